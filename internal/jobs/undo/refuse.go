package undo

import (
	"slices"

	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// refusals says why markers would lose something, or might; none: they do not.
// others is how many other timestamps of the table were undone.
func (l *load) refusals(s *result.Survey, others int, insertOnly bool) (all []setting.Text) {
	no := func(format string, args ...any) { all = append(all, setting.Textf(format, args...)) }
	if s.Marked > 0 {
		no("in %s a marker deletes timestamp %d already: this load, or a part of it, was undone before", setting.Count(s.Marked, "row"), l.stamp)
	}
	if !same(s, l.manifest.Digest) {
		no("the table has %s with timestamp %d, and %s with other columns; the job wrote %s: others wrote cells of this timestamp, or cells of the job are gone by now, deleted, expired or replaced",
			s.Load, l.stamp, setting.Count(s.Foreign, "row"), l.manifest.Digest)
	}
	if insertOnly && s.RowsOverwritten > 0 {
		no("%s is given, but %s were there before the load", setting.InsertOnly, setting.Count(s.RowsOverwritten, "row"))
	}
	for _, f := range s.Families {
		need := 2 + others
		switch {
		case insertOnly:
		case f.KeepDeleted && s.RowsRestored > 0 && !keeps(f, others):
			no("family %s has KEEP_DELETED_CELLS and keeps %d versions: deleted cells count among them, and a compaction would drop older ones (%d would be enough where no single versions are deleted)", f.Family, f.Versions, need)
		case f.Compacted == 0:
		case f.Versions == 1 && others == 0:
			no("family %s keeps one version, and a compaction has written %d of the load's %d cells again: what they had overwritten is gone, and it is not known whether they had "+
				"(give %s if you know that the load has only added rows)", f.Family, f.Compacted, f.Cells, setting.InsertOnly)
		case f.Versions < need:
			no("family %s keeps %d versions, a compaction has written %d of the load's %d cells again, and %d other timestamps of the table were undone: "+
				"%d versions would be needed to be sure that what the load has overwritten is there", f.Family, f.Versions, f.Compacted, f.Cells, others, need)
		case f.Deletes > 0:
			no("in %d rows of family %s markers delete single versions of other timestamps, and a compaction has written %d of the load's %d cells again: "+
				"it is not known what was seen before the load there", f.Deletes, f.Family, f.Compacted, f.Cells)
		}
	}
	return all
}

// keeps reports whether a family keeps what is seen again in whichever files a compaction puts together: it has a version for
// that, one for the load, and one for each other timestamp that was undone.
func keeps(f result.SurveyFamily, others int) bool { return f.Versions >= 2+others && f.Deletes == 0 }

// uncompacted is a survey as if no compaction had written the load's cells again.
func uncompacted(s *result.Survey) *result.Survey {
	as := *s
	as.Families = slices.Clone(s.Families)
	for i := range as.Families {
		as.Families[i].Compacted = 0
	}
	return &as
}
