package job

import (
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
)

// Masked counts what a verification has found in the table although no reader
// sees it: it was loaded, and is not lost, but hidden by what others did.
type Masked struct {
	Rows    int64 `json:"rows"`              // with at least one such cell
	Newer   int64 `json:"by_newer_cells"`    // cells of whose column readers see a newer version
	Deleted int64 `json:"by_delete_markers"` // cells that delete markers hide
}

func (m *Masked) add(o Masked) {
	m.Rows += o.Rows
	m.Newer += o.Newer
	m.Deleted += o.Deleted
}

func (m *Masked) addRow(h loader.Hidden) {
	if h.Newer+h.Deleted == 0 {
		return
	}
	m.Rows++
	m.Newer += int64(h.Newer)
	m.Deleted += int64(h.Deleted)
}

// warn says that there are such cells.
func (m Masked) warn(e progress.Events, mode string) {
	if m.Rows > 0 {
		e.Warn("rows that were loaded are masked by newer cells or hidden by delete markers, which others wrote: they are there, but readers do not see them",
			"mode", mode, "rows", m.Rows, "cells_masked_by_newer", m.Newer, "cells_hidden_by_delete_markers", m.Deleted)
	}
}

// storedRows is the digest of rows as the stores hold them, and of what is
// left of them without deleted cells. Those may be the job's, deleted since,
// or an earlier job's of the same timestamp, deleted before: whichever digest
// is the one that was written tells.
type storedRows struct {
	all, undeleted       manifest.Digest
	wrong, wrongLeft     error // the first row that cannot have been loaded
	masked, maskedByLeft Masked
	read                 *rowReader
}

func newStoredRows(m *manifest.Manifest) *storedRows { return &storedRows{read: newRowReader(m)} }

// add counts a row. The error is one that nothing can make good.
func (s *storedRows) add(row loader.Row, h loader.Hidden) error {
	s.masked.addRow(h)
	one, err := s.digest(row)
	if err != nil && h.Undeleted == nil {
		return err
	}
	if s.all.Add(one); s.wrong == nil {
		s.wrong = err
	}
	if h.Undeleted == nil {
		s.undeleted.Add(one)
		s.maskedByLeft.addRow(h)
		return nil
	}
	s.maskedByLeft.addRow(loader.Hidden{Newer: h.Newer})
	if len(h.Undeleted) == 0 {
		return nil
	}
	row.Cells = h.Undeleted
	one, err = s.digest(row)
	if s.undeleted.Add(one); s.wrongLeft == nil {
		s.wrongLeft = err
	}
	return nil
}

// digest is that of one row.
func (s *storedRows) digest(row loader.Row) (manifest.Digest, error) {
	s.read.digest = manifest.Digest{}
	err := s.read.add(row)
	return s.read.digest, err
}

func (s *storedRows) join(o *storedRows) {
	s.all.Add(o.all)
	s.undeleted.Add(o.undeleted)
	s.masked.add(o.masked)
	s.maskedByLeft.add(o.maskedByLeft)
	if s.wrong == nil {
		s.wrong = o.wrong
	}
	if s.wrongLeft == nil {
		s.wrongLeft = o.wrongLeft
	}
}

// choose gives the digest that was written, if one is, else that of all rows.
func (s *storedRows) choose(want manifest.Digest) (manifest.Digest, Masked, error) {
	if s.wrongLeft == nil && s.undeleted == want && (s.all != want || s.wrong != nil) {
		return s.undeleted, s.maskedByLeft, nil
	}
	return s.all, s.masked, s.wrong
}
