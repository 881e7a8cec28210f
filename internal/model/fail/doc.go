// Package fail has the kinds of failure of a job: what a person or a program
// does next depends on the kind alone, and a command's exit code is made of it.
// [With] and [Errorf] mark an error with its kind where it arises, [KindOf] returns
// it. A full local disk ([DiskFullError]) has one kind wherever it occurs, and
// messages of errors about data omit the data ([AboutData]).
//
// The package has no state; all of it is safe for concurrent use.
package fail
