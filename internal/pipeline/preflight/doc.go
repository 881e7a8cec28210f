// Package preflight finds before a job what would stop it later: a [Check] for each
// thing, with what is wrong and what to do. It changes nothing that it does not
// take back at once: a file written, renamed and removed in the staging directory,
// HBase's own staging directory made and removed.
package preflight
