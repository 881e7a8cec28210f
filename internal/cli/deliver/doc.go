// Package deliver sends small, optional messages of a job to HTTP servers. Sending is bounded in time, is retried where that
// may help, and its errors reveal no secrets. The package is a leaf: metrics, lineage and commands share it.
package deliver
