package proto

// EndpointType is the type of an endpoint on the wire.
type EndpointType int16

// The endpoint types this package understands.
const (
	EndpointTCP EndpointType = 1
	EndpointSSL EndpointType = 2
	EndpointUDP EndpointType = 3
	EndpointWS  EndpointType = 4
	EndpointWSS EndpointType = 5
)

// Infinite is the timeout of an endpoint that never times out.
const Infinite int32 = -1

// DefaultTimeout is the timeout of an endpoint string without one, in
// milliseconds.
const DefaultTimeout int32 = 60000

// Endpoint is one address of a proxy. Raw is nil for an endpoint that is
// understood.
type Endpoint struct {
	Type     EndpointType
	Host     string // name or address; may be empty
	Port     int32
	Timeout  int32 // milliseconds, or Infinite; not for udp
	Compress bool
	Resource string // ws and wss only

	// Local hints of endpoint strings; never sent.
	SourceAddress string
	Interface     string // udp
	TTL           int32  // udp; 0: not given
	Connect       bool   // udp

	// Raw is the body of an opaque endpoint, whose type or encoding isn't
	// understood, and RawEncoding the version it is encoded in. Both are
	// written back as they came.
	Raw         []byte
	RawEncoding Version
}

// Opaque reports whether the endpoint can only be passed on.
func (e *Endpoint) Opaque() bool { return e.Raw != nil }

func (t EndpointType) known() bool { return t >= EndpointTCP && t <= EndpointWSS }

// websocket says whether an endpoint of type t has a resource.
func (t EndpointType) websocket() bool { return t == EndpointWS || t == EndpointWSS }

// Endpoint reads an endpoint.
func (d *Decoder) Endpoint() Endpoint {
	e := Endpoint{Type: EndpointType(d.Int16())}
	encaps := d.Encapsulation()
	if d.err != nil {
		return Endpoint{}
	}
	if err := e.decode(encaps); err != nil {
		d.fail("endpoint: " + err.Error())
		return Endpoint{}
	}
	return e
}

// decode fills e, whose Type is set, from its encapsulation.
func (e *Endpoint) decode(encaps []byte) error {
	version := EncapsulationVersion(encaps)
	if !e.Type.known() || !version.supported() {
		e.RawEncoding = version
		e.Raw = append([]byte{}, encaps[encapsHeader:]...)
		return nil
	}
	d := Decoder{buf: encaps, off: encapsHeader, encoding: version}
	e.Host = d.String()
	e.Port = d.Int32()
	if e.Type != EndpointUDP {
		e.Timeout = d.Int32()
	} else if version == Encoding10 {
		d.Next(4) // protocol and encoding version, of no use
	}
	e.Compress = d.Bool()
	if e.Type.websocket() {
		e.Resource = d.String()
	}
	return d.Finish()
}

// AppendEndpoint appends e in an encapsulation of the given version, or of
// its own one when it is opaque.
func AppendEndpoint(dst []byte, e *Endpoint, encoding Version) []byte {
	dst = AppendInt16(dst, int16(e.Type))
	if e.Opaque() {
		dst, start := BeginEncapsulation(dst, e.RawEncoding)
		return EndEncapsulation(append(dst, e.Raw...), start)
	}
	dst, start := BeginEncapsulation(dst, encoding)
	dst = AppendString(dst, e.Host)
	dst = AppendInt32(dst, e.Port)
	if e.Type != EndpointUDP {
		dst = AppendInt32(dst, e.Timeout)
	} else if encoding == Encoding10 {
		dst = append(dst, 1, 0, 1, 0)
	}
	dst = AppendBool(dst, e.Compress)
	if e.Type.websocket() {
		dst = AppendString(dst, e.Resource)
	}
	return EndEncapsulation(dst, start)
}
