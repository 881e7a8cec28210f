package undo

import (
	"slices"
	"strings"

	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// refusals says why markers would lose something, or might; none: they do not.
// others is how many other timestamps of the table were undone.
func (l *load) refusals(s *result.Survey, others int, insertOnly bool) (all []setting.Text) {
	no := func(format string, args ...any) { all = append(all, setting.Textf(format, args...)) }
	if s.Marked > 0 {
		no("in %s a marker already deletes timestamp %d: this load, or a part of it, was undone before", setting.Count(s.Marked, "row"), l.stamp)
	}
	if !same(s, l.manifest.Digest) {
		no("the table has %s with timestamp %d, and %s in other columns; the job wrote %s: others wrote with this timestamp, or its cells were deleted, expired or were replaced",
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
			no("family %s has KEEP_DELETED_CELLS and keeps %d versions, which include deleted cells: a compaction would drop older ones (%d versions are enough if no single versions are deleted)", f.Family, f.Versions, need)
		case f.Compacted == 0:
		case f.Versions == 1 && others == 0:
			no("family %s keeps one version, and a compaction rewrote %d of the load's %d cells: cells that they overwrote are gone (give %s if the load only added rows)", f.Family, f.Compacted, f.Cells, setting.InsertOnly)
		case f.Versions < need:
			no("family %s keeps %d versions, a compaction rewrote %d of the load's %d cells, and %d other timestamps were undone: with fewer than %d versions overwritten cells may be gone", f.Family, f.Versions, f.Compacted, f.Cells, others, need)
		case f.Deletes > 0:
			no("in %d rows of family %s markers delete single versions, and a compaction rewrote %d of the load's %d cells: what readers saw there before the load is unknown", f.Deletes, f.Family, f.Compacted, f.Cells)
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

// lossOf says what others lose by a restore, none: nothing.
func (l *load) lossOf(r *result.Restore) (all []setting.Text) {
	no := func(format string, args ...any) { all = append(all, setting.Textf(format, args...)) }
	switch {
	case r.Written > 0 && r.Unmarked:
		no("%s would be lost that the snapshot lacks: the load's, and those of others, which have no timestamp by which to distinguish them", setting.Count(r.Written, "cell"))
	case r.Written > 0:
		no("%s would be lost that others wrote since the snapshot", setting.Count(r.Written, "cell"))
	}
	if r.Deleted > 0 {
		no("%s would be seen again that others deleted since the snapshot", setting.Count(r.Deleted, "cell"))
	}
	if len(r.Jobs) > 0 {
		no("the loads of %s would be lost, which came since the snapshot: undo them first, the newest first", strings.Join(r.Jobs, ", "))
	}
	if len(r.Settings) > 0 {
		no("settings of the table that were changed since the snapshot would be as they were: %s", strings.Join(r.Settings, ", "))
	}
	return all
}
