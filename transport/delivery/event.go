package delivery

// Event is one event on its way. It is built once, never changed, and shared
// by all its receivers; what is copied for each is its header only.
//
// Every face carries events in Ice's own form, so that an event from one Ice
// program reaches another byte for byte; the others translate at their edge.
type Event struct {
	// Tail is operation, mode, context and parameter encapsulation, as they
	// stand at the end of an Ice request. The other byte slices lie in it.
	Tail []byte
	// Operation is the operation's name.
	Operation []byte
	// Mode is Ice's operation mode: 0 normal, 1 nonmutating, 2 idempotent.
	Mode byte
	// Context is the context in Ice's encoding: a size, then pairs of strings.
	Context []byte
	// Params is the whole parameter encapsulation, its six header bytes included.
	Params []byte
	// Cost is the context's entry "cost" as a number, 0 where absent.
	Cost int32
}
