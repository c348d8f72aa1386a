// Package api holds what travels over floe's HTTP API as JSON: the values of
// each call, and the kinds of error with the HTTP status and exit code that
// each stands for. Server, Go client and command line share it.
package api
