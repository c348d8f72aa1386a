// Package e2e proves floe from outside: nodes as processes, stock Ice programs as their clients.
package e2e
