package model

import "floe/fsm"

// remembered is how many requests count as known when they come again.
const remembered = 8192

// memory tells requests that come again.
type memory struct {
	at     map[fsm.RequestID]uint64
	order  []fsm.RequestID
	forgot uint64 // highest index of a request that is forgotten
}

// repeated says whether a command is without effect because it came before, or
// so late that nobody knows, and remembers it otherwise.
func (m *memory) repeated(c fsm.Command, index uint64) bool {
	if c.Request == (fsm.RequestID{}) {
		return false
	}
	if _, known := m.at[c.Request]; known || c.Repeat && c.Base < m.forgot {
		return true
	}
	if m.at == nil {
		m.at = map[fsm.RequestID]uint64{}
	}
	m.at[c.Request] = index
	m.order = append(m.order, c.Request)
	if len(m.order) > remembered {
		m.forgot = max(m.forgot, m.at[m.order[0]])
		delete(m.at, m.order[0])
		m.order = m.order[1:]
	}
	return false
}
