// Command benchrun measures floe, against a stock IceStorm with the same clients on the same machine (ice), and with RMR
// applications (rmr); scripts/bench builds and starts it from the top of the repository.
//
// A row is one load. Each round runs a row on floe and then on IceStorm, each time with a new server that has the
// machine to itself; the ratio of a row is the median of the rounds' ratios, so that what changes slowly on the
// machine touches both sides alike. Nothing here judges a figure by its exit code: only what breaks does.
package main
