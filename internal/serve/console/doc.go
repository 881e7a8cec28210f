// Package console provides the jobs of a state directory or table to the pages of package serve. It reads their states
// as the command status does, keeps the last states while they cannot be read, and acts on jobs as the commands do.
// Begin with [Place].
//
// It reads nothing while there are no requests, does not read unchanged jobs again, and takes no locks.
package console
