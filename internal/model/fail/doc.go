// Package fail has the kinds of failure of a job: what a person or a program
// does next depends on the kind alone, and a command's exit code is made of it.
// [With] and [Errorf] mark an error with its kind where it arises, [KindOf] asks
// for it. A full local disk ([DiskFullError]) has one kind wherever it shows, and
// errors about data keep the data out of their message ([AboutData]).
//
// Nothing here has state; everything may be used by several goroutines.
package fail
