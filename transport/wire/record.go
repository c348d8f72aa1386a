package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"sync"
	"time"
)

// Records carry what follows the preamble where there is no TLS: how many bytes
// (2), a CRC32C (4), the bytes. The sum goes over the record's number on this
// connection (8, from 0), the two bytes of the length and the bytes. TCP's own sum
// has 16 bits and is made anew by whatever passes packets on, so damage gets
// past it.
const (
	recordHead = 6
	// recordMax is the most a record carries: little enough to come in one go
	// on slow networks, since a record is of no use before it is whole.
	recordMax = 16 << 10
)

// errDamaged is why a connection ends whose bytes are not those that were sent.
var errDamaged = fmt.Errorf("%w: bytes were damaged on the way", errBadFrame)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed is a connection whose bytes travel in records. One goroutine may read
// and several may write at a time.
type sealed struct {
	net.Conn
	stall time.Duration // how long a record that has begun may stand still

	buffer  []byte // has room for one record
	have    int    // bytes in it that were read
	used    int    // bytes in it that belong to records before
	ready   []byte // of the record read last, what nobody took yet
	readNo  uint64
	readErr error

	writing sync.Mutex
	record  []byte
	writeNo uint64
}

func seal(nc net.Conn, stall time.Duration) *sealed {
	return &sealed{Conn: nc, stall: stall, buffer: make([]byte, recordHead+recordMax)}
}

// Read is that of net.Conn. It may be called again after a deadline passed. What
// is left of a record that has begun has a deadline of its own.
func (s *sealed) Read(b []byte) (int, error) {
	for len(s.ready) == 0 && len(b) > 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// next makes the next record ready, or reads some more of it.
func (s *sealed) next() error {
	if s.readErr != nil {
		return s.readErr
	}
	record := s.buffer[s.used:s.have]
	if len(record) >= recordHead {
		size := recordHead + int(binary.BigEndian.Uint16(record))
		if size == recordHead || size > len(s.buffer) {
			s.readErr = errDamaged
			return s.readErr
		}
		if len(record) >= size {
			return s.open(record[:size])
		}
	}
	copy(s.buffer, record)
	s.used, s.have = 0, len(record)
	begun := s.have > 0
	if begun {
		_ = s.SetReadDeadline(time.Now().Add(s.stall)) // fails on a closed connection only, as the read will
	}
	n, err := s.Conn.Read(s.buffer[s.have:])
	s.have += n
	if n > 0 {
		return nil // an error comes again
	}
	if begun {
		return cutFrame(err)
	}
	return err
}

// open checks a whole record.
func (s *sealed) open(record []byte) error {
	if binary.BigEndian.Uint32(record[2:]) != recordSum(s.readNo, record) && !checksumIgnored {
		s.readErr = errDamaged
		return s.readErr
	}
	s.readNo++
	s.used += len(record)
	s.ready = record[recordHead:]
	return nil
}

// recordSum is the sum that belongs into a record.
func recordSum(number uint64, record []byte) uint32 {
	var b [10]byte
	binary.BigEndian.PutUint64(b[:], number)
	copy(b[8:], record[:2])
	return crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, record[recordHead:])
}

// Write is that of net.Conn. After an error the connection is of no more use for
// writing, as a record may have gone out in part.
func (s *sealed) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	for done := 0; done < len(b); {
		part := b[done:min(len(b), done+recordMax)]
		record := append(append(s.record[:0], make([]byte, recordHead)...), part...)
		binary.BigEndian.PutUint16(record, uint16(len(part)))
		binary.BigEndian.PutUint32(record[2:], recordSum(s.writeNo, record))
		s.record = record
		s.writeNo++
		if _, err := s.Conn.Write(record); err != nil {
			return done, err
		}
		done += len(part)
	}
	return len(b), nil
}

// CloseWrite sends the peer an end of file, where the transport can.
func (s *sealed) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
