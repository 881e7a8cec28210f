package verify

import (
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
)

// Rows computes the digest of rows that a job has written, wherever they are
// read. It belongs to one goroutine.
type Rows struct{ read *rowReader }

// NewRows returns an empty Rows for the rows of a manifest's job.
func NewRows(m *manifest.Manifest) *Rows { return &Rows{newRowReader(m)} }

// Add adds a row with all its cells of the job. It returns an error if the job
// cannot have written the row, which is then not added.
func (r *Rows) Add(row loader.Row) error { return r.read.add(row) }

// Digest returns the digest of the rows so far. The digests of parts of a table add up.
func (r *Rows) Digest() manifest.Digest { return r.read.digest }
