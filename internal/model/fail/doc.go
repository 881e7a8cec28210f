// Package fail defines the kinds of failure of a job. The kind determines a command's
// exit code, and what a person or a program should do next.
// [With] and [Errorf] mark an error with its kind where it arises, and [KindOf] returns
// the kind. A full local disk ([DiskFullError]) has the same kind wherever it occurs, and
// messages of errors about data omit the data ([AboutData]).
//
// The package has no state; all of it is safe for concurrent use.
package fail
