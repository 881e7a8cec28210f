// Package usage says how commands are used. [Define] makes their help and their errors about unknown flags and subcommands; [NoArgs] and
// [ExactArgs] refuse arguments; [Explain] suggests a command for one that does not exist.
package usage
