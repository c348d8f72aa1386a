package delivery

// Flusher is a connection that has something to send. Flush sends what can
// be sent at once and leaves the rest to the connection's own goroutine; it
// never waits.
type Flusher interface{ Flush() }

// Burst gathers the connections that became busy while a face worked through
// what it had read, so that the face's own goroutine sends to each of them
// once, at the end, with [Burst.Flush]. That saves waking a goroutine, which
// for a single event costs more than sending it.
//
// The zero value is ready for use, by one goroutine. With a nil *Burst each
// connection's own goroutine is woken at once.
type Burst struct{ due []Flusher }

// Later notes a connection to be flushed. It reports false for a nil Burst:
// the connection has to see to it itself.
func (b *Burst) Later(f Flusher) bool {
	if b == nil {
		return false
	}
	b.due = append(b.due, f)
	return true
}

// Flush flushes the connections gathered.
func (b *Burst) Flush() {
	for i, f := range b.due {
		b.due[i] = nil
		f.Flush()
	}
	b.due = b.due[:0]
}
