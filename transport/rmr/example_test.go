package rmr_test

import (
	"context"
	"fmt"
	"net"

	"floe/transport/rmr"
	"floe/transport/rmr/proto"
)

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := rmr.New(rmr.Config{Listener: l})
	defer server.Close()
	client := rmr.New(rmr.Config{}) // answers come on its own connection
	defer client.Close()

	done := make(chan error, 1)
	go func() {
		got, err := server.Receive(context.Background())
		if err == nil {
			err = server.Reply(context.Background(), got, got.Type+1, []byte("pong"))
		}
		done <- err
	}()
	answer, err := client.Call(context.Background(), l.Addr().String(), proto.Message{Type: 100, SubID: proto.NoSubID, Payload: []byte("ping")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Type, string(answer.Payload), <-done)
	// Output: 101 pong <nil>
}
