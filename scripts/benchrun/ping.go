package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	headerSize = 14
	// pingRequest is a twoway ice_ping of IceStorm/TopicManager behind the header, as the Ice manual lays a request
	// out: request id 1, identity name and category, no facet, operation, mode, empty context, empty encapsulation 1.1.
	pingRequest = "\x01\x00\x00\x00" + "\x0cTopicManager" + "\x08IceStorm" + "\x00" + "\x08ice_ping" + "\x01" + "\x00" +
		"\x06\x00\x00\x00\x01\x01"
)

// await returns once the server answers at the address as asked, trying anew every millisecond; it ends early where
// the server does.
func await(ctx context.Context, server *child, ask func(context.Context, string) error, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ask(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-server.done:
			return server.failed("ended before it served")
		case <-ctx.Done():
			return server.failed(fmt.Sprintf("does not serve at %s: %v", address, err))
		case <-time.After(time.Millisecond):
		}
	}
}

// readyz asks floe whether it takes changes.
func readyz(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Close = true
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s", reply.Status)
	}
	return nil
}

// ping asks the topic manager for an ice_ping. It takes the place of an Ice client, whose own start takes longer than
// what is to be measured.
func ping(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := readFrame(conn, 3); err != nil { // validate connection: the server speaks first
		return err
	}
	if _, err := conn.Write(pingFrame()); err != nil {
		return err
	}
	body, err := readFrame(conn, 2)
	if err != nil {
		return err
	}
	if len(body) < 5 || body[4] != 0 {
		return errors.New("ice_ping: not answered with success")
	}
	return nil
}

func pingFrame() []byte {
	frame := []byte{'I', 'c', 'e', 'P', 1, 0, 1, 0, 0, 0}
	frame = binary.LittleEndian.AppendUint32(frame, headerSize+uint32(len(pingRequest)))
	return append(frame, pingRequest...)
}

// readFrame reads one small message of the given type and returns what follows its header.
func readFrame(r io.Reader, kind byte) ([]byte, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[10:])
	if string(head[:4]) != "IceP" || head[8] != kind || size < headerSize || size > 4096 {
		return nil, fmt.Errorf("not the Ice message expected: % x", head)
	}
	body := make([]byte, size-headerSize)
	_, err := io.ReadFull(r, body)
	return body, err
}
