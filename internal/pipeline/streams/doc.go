// Package streams makes files of inputs that can be read only once: standard input and named pipes. [Find] finds them, and [Inputs.Keep] copies them
// to local disk, where the copy has the place of the stream from then on. A [Job] keeps copies for its next attempt, which compares what comes then
// with what was read before.
//
// Begin with streams.go. The package knows nothing of formats and records.
package streams
