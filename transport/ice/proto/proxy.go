package proto

// ProxyMode says how requests are sent through a proxy.
type ProxyMode byte

// The modes of a proxy.
const (
	Twoway        ProxyMode = 0
	Oneway        ProxyMode = 1
	BatchOneway   ProxyMode = 2
	Datagram      ProxyMode = 3
	BatchDatagram ProxyMode = 4
)

// Proxy is a reference to an object. The zero value is the null proxy. It
// shares no memory with the message it was read from.
type Proxy struct {
	Identity  Identity
	Facet     string // empty: the default facet
	Mode      ProxyMode
	Secure    bool // only ssl and wss endpoints may be used
	Protocol  Version
	Encoding  Version // of parameters sent through the proxy
	Endpoints []Endpoint
	// AdapterID is used where there are no endpoints; a proxy with neither is
	// a well-known one, resolved by its identity.
	AdapterID string
}

// IsNull reports whether p is the null proxy.
func (p *Proxy) IsNull() bool { return p.Identity == Identity{} }

// NewProxy returns a twoway proxy of encoding 1.1.
func NewProxy(id Identity, endpoints ...Endpoint) Proxy {
	return Proxy{Identity: id, Protocol: Protocol10, Encoding: Encoding11, Endpoints: endpoints}
}

// Proxy reads a proxy. Endpoints of types unknown here are kept as they are.
func (d *Decoder) Proxy() Proxy {
	p := Proxy{Identity: d.Identity()}
	if d.err != nil || p.IsNull() {
		return Proxy{}
	}
	p.Facet = string(d.facetPath())
	p.Mode = ProxyMode(d.Byte())
	if p.Mode > BatchDatagram {
		d.fail("proxy mode out of range")
	}
	p.Secure = d.Bool()
	p.Protocol, p.Encoding = Protocol10, Encoding10
	if d.encoding != Encoding10 {
		p.Protocol = Version{d.Byte(), d.Byte()}
		p.Encoding = Version{d.Byte(), d.Byte()}
	}
	p.Endpoints = d.endpoints()
	if len(p.Endpoints) == 0 {
		p.AdapterID = d.String()
	}
	if d.err != nil {
		return Proxy{}
	}
	return p
}

// growLimit bounds what is allocated for a sequence before its elements were
// seen: an element in memory is larger than its shortest encoding.
const growLimit = 64

func (d *Decoder) endpoints() []Endpoint {
	n := d.SeqSize(2 + encapsHeader)
	if n == 0 {
		return nil
	}
	list := make([]Endpoint, 0, min(n, growLimit))
	for range n {
		if d.err != nil {
			return nil
		}
		list = append(list, d.Endpoint())
	}
	return list
}

// AppendProxy appends p, or the null proxy.
func AppendProxy(dst []byte, p *Proxy, encoding Version) []byte {
	if p.IsNull() {
		return append(dst, 0, 0)
	}
	dst = AppendTarget(dst, p.Identity, p.Facet)
	dst = AppendBool(append(dst, byte(p.Mode)), p.Secure)
	if encoding != Encoding10 {
		dst = append(dst, p.Protocol.Major, p.Protocol.Minor, p.Encoding.Major, p.Encoding.Minor)
	}
	dst = AppendSize(dst, len(p.Endpoints))
	for i := range p.Endpoints {
		dst = AppendEndpoint(dst, &p.Endpoints[i], encoding)
	}
	if len(p.Endpoints) == 0 {
		dst = AppendString(dst, p.AdapterID)
	}
	return dst
}
