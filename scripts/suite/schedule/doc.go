// Package schedule draws up when which fault strikes whom: a pure function of
// the seed, printed before a run so that anybody can see and repeat it.
package schedule
