// Package report writes what a failure run found: report.json for programs and
// report.md, one page, for people.
package report
