// Package spec describes the job that a user requests: the job file, the mapping of
// columns to cells, sizes, options. It depends on neither inputs nor clusters, and reads no
// flags: a command applies its flags to a [Spec] before it passes it to other
// packages.
package spec
