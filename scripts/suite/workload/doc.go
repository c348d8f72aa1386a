// Package workload is the clients of a failure run: programs that create,
// link and publish through all nodes at once and write down what they were
// told. They draw what to do from the run's seed; what happens when depends on
// the cluster.
package workload
