package main

import "time"

var tlsExpiry = gauge("floe_tls_expiry_seconds", "How long the node's certificate, or the first of its authorities, is still good; below 0: it ended.", "of")

// certificateFigures are when certificates end; zero without any.
type certificateFigures struct{ cert, authority time.Time }

func (n *node) certificateFigures() certificateFigures {
	if n.tls == nil {
		return certificateFigures{}
	}
	cert, authority := n.tls.Ends()
	return certificateFigures{cert, authority}
}

func (s samples) certificates(c certificateFigures) {
	if c.cert.IsZero() {
		return
	}
	s.put(tlsExpiry, time.Until(c.cert).Seconds(), "node")
	s.put(tlsExpiry, time.Until(c.authority).Seconds(), "authority")
}
