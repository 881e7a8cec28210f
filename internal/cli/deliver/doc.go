// Package deliver sends small messages to HTTP servers whose failure does not fail a job. It limits the time, retries
// failures that may pass, and returns errors without secrets. It is a small leaf of its own: metrics, lineage and commands
// share it.
package deliver
