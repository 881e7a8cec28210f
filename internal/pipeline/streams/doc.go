// Package streams converts inputs that can be read only once, standard input and named pipes, into files. [Find] finds them, and [Inputs.Keep]
// copies them to local disk, where the copy replaces the stream from then on. A [Job] keeps copies for its next attempt, which compares the stream
// that it gets with the one that was read before.
//
// Begin with streams.go. The package does not handle formats or records.
package streams
