// Package spec describes the job that a user requests: the job file, the mapping of
// columns to cells, sizes, options. It contacts neither inputs nor clusters, and does not
// read flags: a command applies its flags to a [Spec] before it passes the Spec to
// other packages.
package spec
