package verify

import (
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
)

// storedRows is the digest of rows as the stores hold them, and of what is
// left of them without deleted cells. Those may be the job's, deleted since,
// or an earlier job's of the same timestamp, deleted before: whichever digest
// is the one that was written shows.
type storedRows struct {
	all, undeleted       manifest.Digest
	wrong, wrongLeft     error // the first row that cannot have been loaded
	masked, maskedByLeft result.Masked
	read                 *rowReader
}

func newStoredRows(m *manifest.Manifest) *storedRows { return &storedRows{read: newRowReader(m)} }

// add counts a row. The error is one that nothing can make good.
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
	err := s.read.add(row)
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

// choose gives the digest that was written, if one is, else that of all rows.
func (s *storedRows) choose(want manifest.Digest) (manifest.Digest, result.Masked, error) {
	if s.wrongLeft == nil && s.undeleted == want && (s.all != want || s.wrong != nil) {
		return s.undeleted, s.maskedByLeft, nil
	}
	return s.all, s.masked, s.wrong
}
