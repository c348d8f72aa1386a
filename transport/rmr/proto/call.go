package proto

// FlagCall is set in the request of a call, whose sender waits for an answer.
const FlagCall = 0x04

// NewCall returns the request of a call without type, transaction id or
// payload. Call ids go from 1 to 255; the library has 1 for its plain call and
// gives the others to threads. The answer bears the same call id and all 32
// bytes of the transaction id.
func NewCall(id byte) Message {
	return Message{SubID: NoSubID, Flags: FlagCall, Data1: []byte{id, 0, 0, 0}}
}

// IsCall tells whether the sender waits for an answer.
func (m *Message) IsCall() bool { return m.Flags&FlagCall != 0 }

// CallID is the id of the call that the message asks or, if not
// [Message.IsCall], answers; 0: none.
func (m *Message) CallID() byte {
	if len(m.Data1) == 0 {
		return 0
	}
	return m.Data1[0]
}

// ClearCall makes an ordinary message of it: the flag goes, and so does the
// call id, with all of data 1.
func (m *Message) ClearCall() {
	m.Flags &^= FlagCall
	m.Data1 = nil
}

// Reply returns the answer to m with a type and payload of its own, as the
// library's return-to-sender makes it: transaction id, MEID, subscription id,
// trace, data 1 (with the call id) and data 2 are kept, the source becomes that of who
// answers, and the call flag is cleared. It shares m's slices.
func (m *Message) Reply(mtype int32, payload, src, srcIP []byte) Message {
	out := *m
	out.Type, out.Payload = mtype, payload
	out.Src, out.SrcIP = src, srcIP
	out.Flags &^= FlagCall
	return out
}
