package main

import "time"

var tlsExpiry = gauge("floe_tls_expiry_seconds", "How long the node's certificate, or the first of its authorities, is still good, and those of Ice over ssl where they are others; below 0: it ended.", "of")

// certificateFigures are when certificates end; zero without any.
type certificateFigures struct{ cert, authority, ice, iceAuthority time.Time }

func (n *node) certificateFigures() certificateFigures {
	var f certificateFigures
	if n.tls != nil {
		f.cert, f.authority = n.tls.Ends()
	}
	if n.iceTLS == nil {
		return f
	}
	f.ice, f.iceAuthority = n.iceTLS.Ends()
	files := n.options.iceTLSFiles()
	if files.Cert == n.options.text("tls-cert") {
		f.ice = time.Time{}
	}
	if files.CA == n.options.text("tls-ca") {
		f.iceAuthority = time.Time{}
	}
	return f
}

func (s samples) certificates(c certificateFigures) {
	for _, one := range []struct {
		of  string
		end time.Time
	}{{"node", c.cert}, {"authority", c.authority}, {"ice", c.ice}, {"ice_authority", c.iceAuthority}} {
		if !one.end.IsZero() {
			s.put(tlsExpiry, time.Until(one.end).Seconds(), one.of)
		}
	}
}
