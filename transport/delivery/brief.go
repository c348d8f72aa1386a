package delivery

import "strings"

// briefMax bounds the text of a failure, in bytes: it holds words of the
// other side, and goes into the log, the status of all nodes and Raft.
const briefMax = 500

// brief returns err, with its text cut where that is long.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= briefMax {
		return err
	}
	return &briefError{strings.ToValidUTF8(text[:briefMax], "") + "...", err}
}

type briefError struct {
	text string
	err  error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.err }
