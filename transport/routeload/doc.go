// Package routeload has a cluster take route tables and MEID maps of any
// size. What fits one log entry goes as one command; what does not is staged
// in parts, one after the other, and committed by a last one, so that other
// changes get their turn in between and readers see all of it at once.
package routeload
