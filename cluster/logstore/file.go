package logstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// maxJSON bounds what is read of a small JSON file, in bytes.
const maxJSON = 1 << 20

// sealed is a value kept as a JSON file with a checksum over its own text.
type sealed interface {
	// sum is the field that holds the checksum.
	sum() *string
}

// encodeSealed returns v as JSON text with its checksum filled in.
func encodeSealed(v sealed) ([]byte, error) {
	*v.sum() = ""
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	*v.sum() = jsonSum(plain)
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

// decodeSealed reads b into v and verifies the checksum. A field that this
// program does not know is an error: it would fall out of the sum.
func decodeSealed(b []byte, v sealed) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end")
	}
	got := *v.sum()
	*v.sum() = ""
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if *v.sum() = got; got != jsonSum(plain) {
		return errChecksum
	}
	return nil
}

func jsonSum(plain []byte) string {
	return fmt.Sprintf("crc32c:%08x", crc32.Checksum(plain, castagnoli))
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxJSON))
}

// writeAtomic replaces the file at path by b: after a crash it holds all of the old or all of the new.
func writeAtomic(path string, b []byte) error {
	tmp := path + tmpSuffix
	if err := writeSynced(tmp, b); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
