package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// The trailer of Log.Extensions, after the caller's own extensions:
//
//	8 bytes  commit index known at the append, big endian
//	4 bytes  CRC32C of the entry, of the caller's extensions and of the commit index
//	1 byte   version of this format
const (
	trailerVersion = 1
	trailerSize    = 8 + 4 + 1
)

// tagSize is what sealValue adds: a CRC32C.
const tagSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealLogs returns copies of logs, each with the trailer behind its own
// extensions. The logs of the caller stay as they are: raft sends and applies them later.
func sealLogs(logs []*raft.Log, commit uint64) []*raft.Log {
	copies := make([]raft.Log, len(logs))
	sealed := make([]*raft.Log, len(logs))
	for i, l := range logs {
		copies[i] = *l
		copies[i].AppendedAt = l.AppendedAt.UTC() // what a read gives back
		copies[i].Extensions = appendTrailer(&copies[i], l.Extensions, commit)
		sealed[i] = &copies[i]
	}
	return sealed
}

func appendTrailer(l *raft.Log, ext []byte, commit uint64) []byte {
	b := make([]byte, 0, len(ext)+trailerSize)
	b = append(b, ext...)
	b = binary.BigEndian.AppendUint64(b, commit)
	b = binary.BigEndian.AppendUint32(b, entrySum(l, ext, commit))
	return append(b, trailerVersion)
}

// unsealLog verifies what was read for index, takes the trailer off and returns the commit index in it.
func unsealLog(l *raft.Log, index uint64) (uint64, error) {
	n := len(l.Extensions) - trailerSize
	if n < 0 {
		return 0, errors.New("no checksum")
	}
	ext, trailer := l.Extensions[:n:n], l.Extensions[n:]
	if v := trailer[12]; v != trailerVersion {
		return 0, fmt.Errorf("format %d: %w, or damaged", v, ErrUnknownVersion)
	}
	commit := binary.BigEndian.Uint64(trailer)
	if binary.BigEndian.Uint32(trailer[8:]) != entrySum(l, ext, commit) {
		return 0, errChecksum
	}
	if l.Index != index {
		return 0, fmt.Errorf("holds entry %d", l.Index)
	}
	l.Extensions = ext
	if n == 0 {
		l.Extensions = nil
	}
	return commit, nil
}

// entrySum is the CRC32C over all that an entry says. Each variable part has its length before it.
func entrySum(l *raft.Log, ext []byte, commit uint64) uint32 {
	var head [8*6 + 4 + 2]byte
	b := append(head[:0], trailerVersion, byte(l.Type))
	b = binary.BigEndian.AppendUint64(b, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	b = binary.BigEndian.AppendUint64(b, commit)
	b = binary.BigEndian.AppendUint64(b, uint64(l.AppendedAt.Unix()))
	b = binary.BigEndian.AppendUint32(b, uint32(l.AppendedAt.Nanosecond()))
	b = binary.BigEndian.AppendUint64(b, uint64(len(l.Data)))
	b = binary.BigEndian.AppendUint64(b, uint64(len(ext)))
	sum := crc32.Update(0, castagnoli, b)
	sum = crc32.Update(sum, castagnoli, l.Data)
	return crc32.Update(sum, castagnoli, ext)
}

// sealValue returns value with a CRC32C over key and value behind it.
func sealValue(key, value []byte) []byte {
	b := make([]byte, 0, len(value)+tagSize)
	b = append(b, value...)
	return binary.BigEndian.AppendUint32(b, valueSum(key, value))
}

// unsealValue verifies what was read for key and returns the value.
func unsealValue(key, sealed []byte) ([]byte, error) {
	n := len(sealed) - tagSize
	if n < 0 {
		return nil, errors.New("too short")
	}
	if binary.BigEndian.Uint32(sealed[n:]) != valueSum(key, sealed[:n]) {
		return nil, errChecksum
	}
	return sealed[:n:n], nil
}

func valueSum(key, value []byte) uint32 {
	sum := crc32.Checksum(binary.BigEndian.AppendUint32(nil, uint32(len(key))), castagnoli)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}
