// Package report writes what a failure run found: report.json for programs and
// report.html, one page that holds all it shows, for people.
package report
