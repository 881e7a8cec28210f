// Package spec has the description of a job: the job file, the mapping of columns to
// cells, sizes, options. It knows neither inputs nor clusters, and reads no
// flags: a command puts flags over a [Spec] before it hands it on.
package spec
