package verify

import (
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
)

// Rows makes the digest of rows that a job has written, wherever they are read.
// It belongs to one goroutine.
type Rows struct{ read *rowReader }

// NewRows is for the rows of a manifest's job.
func NewRows(m *manifest.Manifest) *Rows { return &Rows{newRowReader(m)} }

// Add counts a row with all cells that it has of the job. An error says that
// the job cannot have written it; nothing of the row is kept.
func (r *Rows) Add(row loader.Row) error { return r.read.add(row) }

// Digest returns the digest of the rows so far. Those of parts of a table add up.
func (r *Rows) Digest() manifest.Digest { return r.read.digest }
