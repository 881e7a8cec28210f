// Package console provides the jobs of a state directory or table for the pages of package serve. It reads their states as status does,
// keeps the last known states while the place cannot be reached, and acts on jobs like a user at the command line. Begin with [Place].
//
// It reads nothing while there are no requests, does not read unchanged jobs again, and takes no locks.
package console
