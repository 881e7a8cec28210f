package undo

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// refusals returns why markers would lose data, or might; none: they would not.
func (l *load) refusals(s *result.Survey, insertOnly bool) (all []setting.Text) {
	no := func(format string, args ...any) { all = append(all, setting.Textf(format, args...)) }
	for _, twin := range l.twins {
		no("job %s has loaded timestamp %d too, and the cells that both wrote would go (if they may, bulkload clean %s %s comes first)", twin, l.stamp, setting.Job, twin)
	}
	if s.Marked > 0 {
		no("in %s a marker already deletes timestamp %d: this load, or a part of it, was undone before", setting.Count(s.Marked, "row"), l.stamp)
	}
	if !exactlyWritten(s, l.manifest.Digest) {
		no("the table has %s with timestamp %d, and %s in other columns; the job wrote %s: others wrote with this timestamp, or its cells were deleted, expired or were replaced",
			s.Load, l.stamp, setting.Count(s.Foreign, "row"), l.manifest.Digest)
	}
	if insertOnly && s.RowsOverwritten > 0 {
		no("%s is given, but %s there before the load", setting.InsertOnly, setting.Count(s.RowsOverwritten, "row was"))
	}
	for _, f := range s.Families {
		need := 2 + l.others
		name, keeps := f.Family, kept(f)
		if keeps < f.Versions {
			name += " (past its TTL, by MIN_VERSIONS)"
		}
		switch {
		case insertOnly:
		case f.KeepDeleted && s.RowsRestored > 0 && !keepsOlder(f, l.others):
			no("family %s has KEEP_DELETED_CELLS and keeps %d versions, which include deleted cells: a compaction would drop older ones (%d versions are enough if no single versions are deleted)", name, keeps, need)
		case f.Compacted == 0:
		case keeps == 1 && l.others == 0:
			no("family %s keeps one version, and a compaction rewrote %d of the load's %d cells: cells that they overwrote are gone (give %s if the load only added rows)", name, f.Compacted, f.Cells, setting.InsertOnly)
		case keeps < need:
			no("family %s keeps %d versions, a compaction rewrote %d of the load's %d cells, and %d other timestamps were undone: with fewer than %d versions overwritten cells may be gone", name, keeps, f.Compacted, f.Cells, l.others, need)
		case f.Deletes > 0:
			no("in %d rows of family %s markers delete single versions, and a compaction rewrote %d of the load's %d cells: what readers saw there before the load is unknown", f.Deletes, f.Family, f.Compacted, f.Cells)
		}
	}
	return all
}

// refuse adds the reasons against an undo to its result, and returns them as one error; nil: there are none.
func refuse(r *result.Undo, all []setting.Text) error {
	r.Refused = nil
	var errs []error
	for _, why := range all {
		r.Refused = append(r.Refused, why.String())
		errs = append(errs, setting.Errorf("%s", why))
	}
	return errors.Join(errs...)
}

// keepsOlder reports whether a family keeps the cells that become visible again, whichever files a compaction combines: it has a version for them, one for
// the load, and one for each other timestamp that was undone.
func keepsOlder(f result.SurveyFamily, others int) bool {
	return kept(f) >= 2+others && f.Deletes == 0
}

// kept returns the number of versions that a compaction keeps, of any age: a cell that is older than the family's TTL is visible if it is among the
// newest MIN_VERSIONS, and is dropped if it is not.
func kept(f result.SurveyFamily) int {
	if f.MinVersions > 0 {
		return min(f.Versions, f.MinVersions)
	}
	return f.Versions
}

// uncompacted returns a survey as if no compaction had rewritten the load's cells.
func uncompacted(s *result.Survey) *result.Survey {
	as := *s
	as.Families = slices.Clone(s.Families)
	for i := range as.Families {
		as.Families[i].Compacted = 0
	}
	return &as
}

// lossOf describes what others lose by a restore, none: nothing.
func (l *load) lossOf(r *result.Restore) (all []setting.Text) {
	no := func(format string, args ...any) { all = append(all, setting.Textf(format, args...)) }
	switch {
	case r.Written > 0 && r.Unmarked:
		no("%s would be lost that the snapshot lacks: the load's, and those of others, which have no timestamp by which to distinguish them", setting.Count(r.Written, "cell"))
	case r.Written > 0:
		no("%s would be lost that others wrote since the snapshot", setting.Count(r.Written, "cell"))
	}
	if r.Deleted > 0 {
		no("it would bring back %s that others deleted since the snapshot", setting.Count(r.Deleted, "cell"))
	}
	if len(r.Jobs) > 0 {
		no("the loads of %s would be lost, which came since the snapshot: undo them first, the newest first", strings.Join(r.Jobs, ", "))
	}
	if len(r.Settings) > 0 {
		no("it would revert settings of the table that were changed since the snapshot: %s", strings.Join(r.Settings, ", "))
	}
	return all
}

// changed returns the settings of the table that differ from the snapshot's. HBase does not restore a table if the store file tracker would change
// (StoreFileTrackerValidationUtils, since 2.5).
func (r *restore) changed(now *snapshot.Snapshot) ([]string, error) {
	before, err := loader.DescribedBy(r.table, r.before.Snapshot.Schema)
	if err != nil {
		return nil, fail.With(fail.Check, err)
	}
	today, err := loader.DescribedBy(r.table, now.Schema)
	if err != nil {
		return nil, fail.With(fail.Check, err)
	}
	names := map[string]bool{}
	differ := func(prefix string, a, b map[string]string) {
		for _, m := range []map[string]string{a, b} {
			for key := range m {
				if a[key] != b[key] {
					names[prefix+key] = true
				}
			}
		}
	}
	r.quiet = map[string]string{}
	for _, key := range history.QuietAttributes() {
		if was, now := before.Attributes[key], today.Attributes[key]; was == "false" && now != was {
			r.quiet[key], before.Attributes[key] = now, now // the load had switched it off when it took the snapshot
		}
	}
	differ("", before.Attributes, today.Attributes)
	differ("", before.Configuration, today.Configuration)
	for _, f := range today.Families {
		was, ok := before.Family(f.Name)
		switch {
		case !ok:
			names["family "+f.Name] = true
		case r.inPlace() && before.FileTracker(was) != today.FileTracker(f):
			return nil, fail.Errorf(fail.Check, "family %s has the store file tracker %s, and %s in snapshot %s: HBase does not restore it in place", f.Name, today.FileTracker(f), before.FileTracker(was), r.from.Snapshot)
		default:
			differ(f.Name+":", was.Attributes, f.Attributes)
			differ(f.Name+":", was.Configuration, f.Configuration)
		}
		if f.Attributes["REPLICATION_SCOPE"] != "" && f.Attributes["REPLICATION_SCOPE"] != "0" && r.inPlace() {
			r.undo.options.Events.Warn("peers of replication keep the load: HBase does not replicate a restored snapshot", "table", r.table.String(), "family", f.Name)
		}
	}
	for _, f := range before.Families {
		if _, ok := today.Family(f.Name); !ok {
			names["family "+f.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// judge refuses a snapshot that has cells of the load, and a loss that is not allowed.
func (r *restore) judge() error {
	s := r.result.Restore
	if s.InBefore > 0 {
		return fail.Errorf(fail.Check, "snapshot %s has %s of the load: it was not taken before it", r.from.Snapshot, setting.Count(s.InBefore, "cell"))
	}
	var loss []setting.Text
	if r.inPlace() && !r.from.Discard {
		loss = r.lossOf(s)
	}
	refused := refuse(r.result, loss)
	if refused == nil {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("snapshot %s is not restored, and nothing was changed: %w (%s restores it nevertheless; %s makes a new table of it)",
		r.from.Snapshot, refused, setting.DiscardWrites, setting.Into))
}
