package derive

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// texts is a hash over texts.
type texts struct{ hash.Hash }

func newHash() texts { return texts{sha256.New()} }

// add takes in texts, none of which contains a NUL.
func (t texts) add(list ...string) {
	for _, s := range list {
		t.Write([]byte(s))
		t.Write([]byte{0})
	}
}

// String returns the hash so far, as 32 hexadecimal digits.
func (t texts) String() string { return hex.EncodeToString(t.Sum(nil)[:16]) }
