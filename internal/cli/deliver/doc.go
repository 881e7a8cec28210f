// Package deliver brings small messages to HTTP servers that a job can do without: bounded in time, tried again where
// that may help, and with errors that reveal nothing secret. It is a small leaf of its own: metrics, lineage and commands
// share it.
package deliver
