package backup_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"floe/transport/http/backup"
)

var header = backup.Header{Program: "devel", Node: "n1", ClusterID: "c0", ClusterVersion: 3, Index: 12, Digest: "d", Time: "2026-01-02T03:04:05Z", Topics: 3}

func make1(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	err := backup.Write(&b, header, func(w io.Writer) error { _, err := w.Write(content); return err })
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCopyIsWhole(t *testing.T) {
	for _, size := range []int{0, 1, 31, 32, 33, 1 << 20} {
		content := bytes.Repeat([]byte("x"), size)
		b := make1(t, content)
		for name, from := range map[string]io.Reader{"at once": bytes.NewReader(b), "in halves": iotest.HalfReader(bytes.NewReader(b))} {
			var to bytes.Buffer
			h, n, err := backup.Copy(&to, from)
			if err != nil || h != header || n != int64(len(b)) || !bytes.Equal(to.Bytes(), b) {
				t.Errorf("%d bytes %s: %+v, %d, %v", size, name, h, n, err)
			}
		}
		h, got, err := backup.Content(b)
		if err != nil || h != header || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: content of %d, %v", size, len(got), err)
		}
	}
}

func TestEveryCutIsNoticed(t *testing.T) {
	b := make1(t, []byte("some content"))
	for n := range b {
		_, _, err := backup.Copy(io.Discard, bytes.NewReader(b[:n]))
		want := backup.ErrDamaged
		if n == 0 {
			want = backup.ErrForeign
		}
		if !errors.Is(err, want) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, _, err := backup.Copy(io.Discard, bytes.NewReader(append(bytes.Clone(b), 0))); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestEveryFlipIsNoticed(t *testing.T) {
	b := make1(t, []byte("some content"))
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		if _, _, err := backup.Content(bad); err == nil {
			t.Errorf("byte %d flipped and not noticed", i)
		}
	}
}

func TestKindsOfError(t *testing.T) {
	newer := bytes.Clone(make1(t, nil))
	newer[11] = 2
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"another file": {[]byte("create A B\nlink A B 5\n"), backup.ErrForeign},
		"short file":   {[]byte("fl0"), backup.ErrForeign},
		"newer":        {newer, backup.ErrNewer},
	} {
		if _, _, err := backup.Copy(io.Discard, bytes.NewReader(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type full struct{ left int }

var errFull = errors.New("no space left on device")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestErrorsOfTheEndsArePassedOn(t *testing.T) {
	b := make1(t, bytes.Repeat([]byte("x"), 1000))
	for _, room := range []int{0, 10, 500} {
		if _, _, err := backup.Copy(&full{room}, bytes.NewReader(b)); !errors.Is(err, errFull) {
			t.Errorf("room for %d: %v", room, err)
		}
	}
	broken := errors.New("connection lost")
	for _, n := range []int64{0, 5, 40, 600} {
		from := io.MultiReader(io.LimitReader(bytes.NewReader(b), n), iotest.ErrReader(broken))
		if _, _, err := backup.Copy(io.Discard, from); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func FuzzContent(f *testing.F) {
	var b bytes.Buffer
	_ = backup.Write(&b, header, func(w io.Writer) error { _, err := w.Write([]byte("content")); return err })
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, content, err := backup.Content(b); err == nil && len(content) > len(b) {
			t.Error("more content than bytes")
		}
	})
}
