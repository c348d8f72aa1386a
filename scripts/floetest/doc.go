// Package floetest runs the real floe program as processes for tests. Only tests import it.
//
// A package that uses it hands its TestMain to [Main], which builds the program once. Every node listens on a loopback
// address of its own with floe's default ports, so tests may run side by side and a node may come back elsewhere.
// Every wait is for a condition, has a deadline and fails the test with what the nodes said. All processes end with the
// test, also where the test binary is killed. As t.Fatal does, functions that may fail the test belong to its goroutine.
package floetest
