package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
)

// bbolt's meta page, internal/common/meta.go: a page header of 16 bytes, then
// magic, version, page size and flags (4 bytes each), root (16), free list,
// high water mark, transaction id and checksum (8 each), in host order.
const (
	metaOffset   = 16
	metaSize     = 64
	metaPageSize = 8
	metaTxID     = 48
	metaSum      = 56
	metaMagic    = 0xED0CDAED
)

// inspect reads the whole database at path before it is opened for writing
// and returns a *CorruptError where its structure is damaged: a meta page,
// the file's length, the tree, the free list. bbolt itself would go back one
// transaction in silence over a damaged meta page (losing an acknowledged
// entry or a vote), and write over live pages by a damaged free list.
// A missing or empty file is fine. Checksums of entries are Verify's work.
func inspect(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := inspectMeta(path); err != nil {
		return &CorruptError{File: path, Err: err}
	}
	return inspectTree(path, info.Size())
}

// inspectMeta demands two valid meta pages of neighbouring transactions. A
// crash can't leave less: a meta page lies within one sector and is synced.
func inspectMeta(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	first, size, err := readMeta(f, 0)
	if err != nil {
		return fmt.Errorf("meta page 0: %w", err)
	}
	second, _, err := readMeta(f, int64(size))
	if err != nil {
		return fmt.Errorf("meta page 1: %w", err)
	}
	if first-second != 1 && second-first != 1 {
		return fmt.Errorf("meta pages of transactions %d and %d do not belong together", first, second)
	}
	return nil
}

func readMeta(f io.ReaderAt, page int64) (txid uint64, pageSize uint32, err error) {
	var b [metaSize]byte
	if _, err := f.ReadAt(b[:], page+metaOffset); err != nil {
		return 0, 0, fmt.Errorf("cut short: %w", err)
	}
	order := binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(b[:metaSum])
	if order.Uint32(b[:]) != metaMagic || order.Uint64(b[metaSum:]) != sum.Sum64() {
		return 0, 0, errChecksum
	}
	return order.Uint64(b[metaTxID:]), order.Uint32(b[metaPageSize:]), nil
}

// inspectTree opens the database for reading, walks every key and value, then lets bbolt compare tree and free list.
func inspectTree(path string, size int64) error {
	var (
		file *os.File
		db   *bbolt.DB
	)
	err := protect(func() (err error) {
		db, err = bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait, OpenFile: keepFile(&file)})
		return err
	})
	if err != nil {
		return openError(path, file, err)
	}
	err = protect(func() error { return db.View(func(tx *bbolt.Tx) error { return walk(tx, file, size) }) })
	if p := (*panicError)(nil); errors.As(err, &p) {
		file.Close() // bbolt's own locks may be held: its Close could wait for ever
		return &CorruptError{File: path, Err: err}
	}
	if closeErr := db.Close(); err == nil {
		return closeErr
	}
	return &CorruptError{File: path, Err: err}
}

func walk(tx *bbolt.Tx, file io.ReaderAt, size int64) error {
	if tx.Size() > size {
		return fmt.Errorf("cut short: %d bytes of %d", size, tx.Size())
	}
	var sum byte
	err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			sum ^= touch(k) ^ touch(v)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := checkPages(tx, file); err != nil {
		return err
	}
	var first error
	for err := range tx.Check() { // to the end: its goroutine waits for us
		if first == nil {
			first = err
		}
	}
	return first
}

// The head of a leaf or branch page: 16 bytes, of them 2 at 10 the number of
// elements, then elements of 16 bytes, then keys and values without a gap.
const (
	pageHead      = 16
	pageCount     = 10
	elementSize   = 16
	leafPosOffset = 4 // of the position within a leaf's element; a branch's begins with it
)

// checkPages finds a page whose number of elements was changed: its first key
// would not lie right behind its elements. bbolt does not look, and would
// forget the last entries of the log without a word.
func checkPages(tx *bbolt.Tx, file io.ReaderAt) error {
	pageSize := tx.DB().Info().PageSize
	for id := 2; ; {
		info, err := tx.Page(id)
		if err != nil {
			return err
		}
		if info == nil { // past the high water mark
			return nil
		}
		if info.Type == "leaf" || info.Type == "branch" {
			if err := checkPage(file, int64(id)*int64(pageSize), info.Type == "leaf"); err != nil {
				return fmt.Errorf("page %d: %w", id, err)
			}
		}
		id += 1 + info.OverflowCount
	}
}

func checkPage(file io.ReaderAt, at int64, leaf bool) error {
	var b [pageHead + elementSize]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		return err
	}
	count := uint32(binary.NativeEndian.Uint16(b[pageCount:]))
	element := b[pageHead:]
	if leaf {
		element = element[leafPosOffset:]
	}
	// An empty leaf, the root of an empty bucket, has no first key.
	if pos := binary.NativeEndian.Uint32(element); count > 0 && pos != count*elementSize {
		return fmt.Errorf("%d elements do not fit its keys at %d", count, pos)
	}
	return nil
}

// touch reads the ends of b, so that a slice that points outside the file faults here.
func touch(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0] ^ b[len(b)-1]
}
