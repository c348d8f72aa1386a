// Package peers runs real Ice programs for floe's tests: the stock icestormadmin, IceStorm and IceGrid registry, and
// publishers and subscribers in C++, Python and JavaScript. Only tests import it.
//
// Every process ends with the test that started it, also where the test binary is killed: the programs watch their
// stdin. Waits have a deadline and fail the test with what the process said. A missing program is fatal and names
// scripts/install-deps; nothing is skipped. All functions may be called from parallel tests, but, like t.Fatal, only
// from the goroutine that runs the test.
//
// A check that has to hold for IceStorm and for floe takes a [Service], which says where a topic manager is; see
// [MakeManualGraph] and [CheckManualOutcome].
package peers
