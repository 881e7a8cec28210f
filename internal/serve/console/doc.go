// Package console knows all jobs of a state place for the pages of package serve: it reads their states as status
// does, keeps what it saw last when the place is out of reach, and acts on jobs as a person at the command line
// would. Begin with [Place].
//
// It reads nothing while there are no requests, does not read unchanged jobs again, and takes no locks.
package console
