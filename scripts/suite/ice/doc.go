// Package ice is a small blocking Ice client and server for failure runs. It
// knows at each failure whether a request may have been carried out, and it
// never repeats one by itself, so a history made with it is exact.
package ice
