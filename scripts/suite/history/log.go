package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Log writes values as JSON lines. It is safe for concurrent use. A write
// error is kept and returned by Close: the run goes on, the verdict fails.
type Log struct {
	start time.Time

	mu     sync.Mutex
	file   *os.File
	buffer *bufio.Writer
	err    error
	lastOp uint64
}

// Create makes the file, or empties it, and starts its clock at the moment
// given, so that several logs of a run agree.
func Create(path string, start time.Time) (*Log, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Log{start: start, file: f, buffer: bufio.NewWriterSize(f, 64<<10)}, nil
}

// Now returns the log's time, in nanoseconds.
func (l *Log) Now() int64 { return int64(time.Since(l.start)) }

// Write appends one value as a line, which is in the file when Write returns.
func (l *Log) Write(v any) {
	b, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.buffer.Write(append(b, '\n'))
	}
	l.err = errors.Join(l.err, err, l.buffer.Flush())
}

// Close ends the log and returns the first error there was.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.file.Close())
}

// Note records something that is no operation.
func (l *Log) Note(kind, node, text string, v *Value) {
	l.Write(Event{Time: l.Now(), Process: "suite", Type: Note, Func: kind, Node: node, Error: text, Value: v})
}

// Pending is an operation under way. Exactly one of its methods is called.
type Pending struct {
	log   *Log
	event Event
}

// Invoke records the start of an operation.
func (l *Log) Invoke(process, node, function, key string, v *Value) *Pending {
	l.mu.Lock()
	l.lastOp++
	op := l.lastOp
	l.mu.Unlock()
	e := Event{Time: l.Now(), Process: process, Op: op, Type: Invoke, Func: function, Key: key, Node: node, Value: v}
	l.Write(e)
	e.Value = nil
	return &Pending{log: l, event: e}
}

// OK records success and what was seen.
func (p *Pending) OK(v *Value) { p.end(OK, v, "") }

// Fail records that the operation has no effect.
func (p *Pending) Fail(why string) { p.end(Fail, nil, why) }

// Info records that nobody knows.
func (p *Pending) Info(why string) { p.end(Info, nil, why) }

func (p *Pending) end(t Type, v *Value, why string) {
	e := p.event
	e.Time, e.Type, e.Value, e.Error = p.log.Now(), t, v, why
	p.log.Write(e)
}

// Lines reads a file of JSON lines. A torn last line, the mark of a killed
// run, is left out.
func Lines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, n, err)
		}
		all = append(all, v)
	}
}
