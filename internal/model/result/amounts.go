package result

import (
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
)

// Amounts returns the amounts that a run has read and written: those of its manifest and of directories that failed, or those of its share. If the
// run failed before it had either, they are the amounts in p. The rows of a share are those that it has sorted. r may be nil.
func (r *Result) Amounts(p progress.Progress) *manifest.Manifest {
	switch {
	case r != nil && r.Manifest != nil:
		m := *r.Manifest
		for _, part := range r.Parts {
			if part.Status != PartDone && part.Status != PartAlready {
				m.Records, m.Rejected, m.Filtered = m.Records+part.Records, m.Rejected+part.Rejected, m.Filtered+part.Filtered
			}
		}
		return &m
	case r != nil && r.Share != nil && r.Share.Records+r.Share.Rejected+r.Share.Filtered > 0: // a merge has none
		s := r.Share
		return &manifest.Manifest{Records: s.Records, Rejected: s.Rejected, Filtered: s.Filtered, RejectFile: s.RejectFile, FilteredFile: s.FilteredFile, SpillBytes: p.Spilled.Bytes,
			Digest: manifest.Digest{Rows: s.Records - s.Rejected - s.Filtered}}
	}
	var read int64
	for _, phase := range p.Phases {
		if phase.Name == "read" {
			read += phase.Done.Rows
		}
	}
	return &manifest.Manifest{Records: max(read, p.Records.Read), Rejected: p.Records.Rejected, Filtered: p.Records.Filtered, HFiles: int(p.Own.Files), Bytes: p.Own.Bytes, SpillBytes: p.Spilled.Bytes,
		Digest: manifest.Digest{Rows: p.Own.Rows}}
}
