package verify

import (
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
)

// storedRows holds the digest of rows as stored, and their digest without
// deleted cells. Deleted cells may be the job's, deleted since, or an earlier
// job's with the same timestamp, deleted before: the digest that equals the
// written one decides.
type storedRows struct {
	all, undeleted       manifest.Digest
	wrong, wrongLeft     error // the first row that cannot have been loaded
	masked, maskedByLeft result.Masked
	read                 *Rows
}

func newStoredRows(m *manifest.Manifest) *storedRows { return &storedRows{read: NewRows(m)} }

// add counts a row. It returns an error if the row cannot match with or without its deleted cells.
func (s *storedRows) add(row loader.Row, h loader.Hidden) error {
	s.masked.AddRow(h)
	one, err := s.digest(row)
	if err != nil && h.Undeleted == nil {
		return err
	}
	if s.all.Add(one); s.wrong == nil {
		s.wrong = err
	}
	if h.Undeleted == nil {
		s.undeleted.Add(one)
		s.maskedByLeft.AddRow(h)
		return nil
	}
	s.maskedByLeft.AddRow(loader.Hidden{Newer: h.Newer})
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

// digest returns the digest of one row.
func (s *storedRows) digest(row loader.Row) (manifest.Digest, error) {
	s.read.digest = manifest.Digest{}
	err := s.read.Add(row)
	return s.read.digest, err
}

func (s *storedRows) join(o *storedRows) {
	s.all.Add(o.all)
	s.undeleted.Add(o.undeleted)
	s.masked.Add(o.masked)
	s.maskedByLeft.Add(o.maskedByLeft)
	if s.wrong == nil {
		s.wrong = o.wrong
	}
	if s.wrongLeft == nil {
		s.wrongLeft = o.wrongLeft
	}
}

// choose returns the digest that equals the written one, else the digest of all rows.
func (s *storedRows) choose(want manifest.Digest) (manifest.Digest, result.Masked, error) {
	if s.wrongLeft == nil && s.undeleted == want && (s.all != want || s.wrong != nil) {
		return s.undeleted, s.maskedByLeft, nil
	}
	return s.all, s.masked, s.wrong
}
