package rmrapp

import "time"

// Pause stops the App as SIGSTOP does, or lets it go on: it reads and sends
// nothing; the system still takes connections and bytes for it.
func (a *App) Pause(on bool) { a.shut(&a.life, on) }

// StopReading makes a black hole of the App, or ends it: it reads from no connection,
// but still asks and sends.
func (a *App) StopReading(on bool) { a.shut(&a.ears, on) }

func (a *App) shut(g *gate, on bool) {
	g.set(on)
	if !on {
		return
	}
	r := a.now()
	for _, p := range []*port{r.data, r.control} {
		p.each(func(c *conn) { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }) // reads that wait already
	}
}

// RefuseControl closes the control port to new connections, or opens it
// again; the error is that of listening.
func (a *App) RefuseControl(on bool) error { return refuse(a.now().control, on) }

// RefuseData is [App.RefuseControl] for the data port.
func (a *App) RefuseData(on bool) error { return refuse(a.now().data, on) }

func refuse(p *port, on bool) error {
	if on {
		p.refuse()
		return nil
	}
	if p.listening() {
		return nil
	}
	return p.listen(p.address)
}

// DropConnections closes all connections, as a cut network or a middlebox does. The
// App does not ask again.
func (a *App) DropConnections() {
	r := a.now()
	for _, p := range []*port{r.data, r.control} {
		p.each(func(c *conn) { _ = c.nc.Close() })
	}
}
