// Package web looks at a node's web page as people do: tests start nodes,
// fill them with odd names, and a script (browser/look.js) opens the page in
// Debian's chromium, clicks, types, reads what stands there, and measures
// that nothing overlaps or scrolls sideways. FLOE_SCREENSHOTS names a
// directory that keeps the pictures it takes.
package web
