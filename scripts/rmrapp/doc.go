// Package rmrapp simulates RMR applications for tests and benchmarks. Towards a
// route manager and other applications an [App] behaves as an unmodified one
// with version 4.9.4 of the library: it asks for a table, reads what it is
// sent as the library does, acknowledges it, and sends and takes messages.
//
// What would kill, jam or mislead a real application is no harm to an App: it
// records a [Fault] and goes on, so that a test can demand that there was
// none. It records every table as an [Event], too.
//
// An App is cheap: two listeners and one goroutine for each connection, one
// more while it asks, no timers. A [Fleet] is many of them.
package rmrapp
