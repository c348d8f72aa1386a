package logstore

import (
	"errors"
	"path/filepath"
)

// keysFile is the name of the ring of gossip secrets in the data directory.
const keysFile = "gossip-keys.json"

// Keys are the secrets of the gossip once they were changed: the first is the one
// that is sent with. They live in gossip-keys.json of the data directory.
type Keys struct {
	// Keys are 16, 24 or 32 bytes each.
	Keys [][]byte `json:"keys"`
	// Checksum is filled in by WriteKeys.
	Checksum string `json:"checksum"`
}

func (k *Keys) sum() *string { return &k.Checksum }

// ReadKeys reads gossip-keys.json of dir. Where there is none the error is
// fs.ErrNotExist; a damaged one is a *CorruptError.
func ReadKeys(dir string) (Keys, error) {
	path := filepath.Join(dir, keysFile)
	b, err := readSmall(path)
	if err != nil {
		return Keys{}, err
	}
	var k Keys
	if err := decodeSealed(b, &k); err != nil {
		return Keys{}, &CorruptError{File: path, Err: err}
	}
	if len(k.Keys) == 0 {
		return Keys{}, &CorruptError{File: path, Err: errors.New("no secret in it")}
	}
	return k, nil
}

// WriteKeys replaces gossip-keys.json of dir, atomically and synced.
func WriteKeys(dir string, k Keys) error {
	b, err := encodeSealed(&k)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, keysFile), b)
}
