package history

import (
	"maps"
	"slices"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/formats/spool"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestFilesThatWereReplacedAreNotLoaded checks after each record of a load that the files to load are those listed on the right. A file that was cut,
// merged or renamed must not stay next to the files that have its rows.
func TestFilesThatWereReplacedAreNotLoaded(t *testing.T) {
	file := func(name string) loader.HFile { return loader.HFile{Family: "f", Path: "/d/f/" + name} }
	files := func(names ...string) (list []loader.HFile) {
		for _, name := range names {
			list = append(list, file(name))
		}
		return list
	}
	h := New()
	for i, step := range []struct {
		event    Event
		data     any
		files    []string
		replaced []string
	}{
		{EventLoading, FilesRecord{Files: files("a", "b", "c", "d")}, []string{"a", "b", "c", "d"}, nil},
		{EventCut, RewrittenRecord{Parents: files("a"), Children: files("a1", "a2")}, []string{"a1", "a2", "b", "c", "d"}, []string{"a"}},
		{EventMerged, RewrittenRecord{Parents: files("b", "a2"), Children: files("m")}, []string{"a1", "c", "d", "m"}, []string{"a", "b", "a2"}},
		{EventSending, SendingRecord{Groups: []FilesRecord{{Region: "r", Files: files("c", "d")}}}, []string{"a1", "c", "d", "m"}, []string{"a", "b", "a2"}},
		{EventFencing, FencingRecord{File: file("c"), To: "/d/f/c.r1"}, []string{"a1", "c", "d", "m"}, []string{"a", "b", "a2"}},
		{EventFenced, FencingRecord{File: file("c.r1"), From: "/d/f/c"}, []string{"a1", "c.r1", "d", "m"}, []string{"a", "b", "a2"}},
		{EventLoaded, FilesRecord{Region: "r", Files: files("d")}, []string{"a1", "c.r1", "d", "m"}, []string{"a", "b", "a2"}},
	} {
		r, err := journal.NewRecord(int64(i+1), string(step.event), step.data)
		testcheck.Must(t, err)
		testcheck.Must(t, h.Apply(r))
		var want, replaced []string
		for _, f := range files(step.files...) {
			want = append(want, f.Path)
		}
		for _, f := range files(step.replaced...) {
			replaced = append(replaced, f.Path)
		}
		if got := slices.Sorted(maps.Keys(h.Leaves)); !slices.Equal(got, want) {
			t.Errorf("after record %d, %s, the files to load are %v, not %v", i+1, step.event, got, want)
		}
		if got := slices.Sorted(maps.Keys(h.Files)); !slices.Equal(got, want) {
			t.Errorf("after record %d, %s, the states are of %v, not of %v", i+1, step.event, got, want)
		}
		if !slices.Equal(h.Replaced, replaced) {
			t.Errorf("after record %d, %s, replaced are %v, not %v", i+1, step.event, h.Replaced, replaced)
		}
	}
	if got := h.Files; got["/d/f/d"] != FileLoaded || got["/d/f/c.r1"] != FileReady || got["/d/f/m"] != FileReady {
		t.Errorf("the states are %v", got)
	}
}

// TestInputThatChangedInOneWayDiffers checks that a change of any field of an input's record is detected.
func TestInputThatChangedInOneWayDiffers(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	one := InputRecord{Input: "x.csv", Size: 3, Time: at, FileID: 7, Change: at}
	if what := one.Differs(one); what != "" {
		t.Errorf("an input differs from itself: %s", what)
	}
	sum, other := spool.Sum(1), spool.Sum(2)
	stream := InputRecord{Input: "-", Size: 3, CRC32C: &sum}
	for what, tt := range map[string]struct {
		was    InputRecord
		change func(*InputRecord)
	}{
		"longer":             {one, func(r *InputRecord) { r.Size++ }},
		"shorter":            {one, func(r *InputRecord) { r.Size-- }},
		"written later":      {one, func(r *InputRecord) { r.Time = at.Add(time.Nanosecond) }},
		"written earlier":    {one, func(r *InputRecord) { r.Time = at.Add(-time.Nanosecond) }},
		"another file":       {one, func(r *InputRecord) { r.FileID++ }},
		"changed later":      {one, func(r *InputRecord) { r.Change = at.Add(time.Nanosecond) }},
		"changed earlier":    {one, func(r *InputRecord) { r.Change = at.Add(-time.Nanosecond) }},
		"a stream":           {one, func(r *InputRecord) { r.CRC32C = &sum }},
		"a file":             {stream, func(r *InputRecord) { r.CRC32C = nil }},
		"a longer stream":    {stream, func(r *InputRecord) { r.Size++ }},
		"a stream's content": {stream, func(r *InputRecord) { r.CRC32C = &other }},
	} {
		now := tt.was
		tt.change(&now)
		if tt.was.Differs(now) == "" {
			t.Errorf("%s: it is taken for the same", what)
		}
	}
	// An earlier version recorded neither field.
	old, now := one, one
	old.FileID, old.Change = 0, time.Time{}
	now.FileID, now.Change = 8, at.Add(time.Hour)
	if what := old.Differs(now); what != "" {
		t.Errorf("what was not recorded is compared: %s", what)
	}
}

// TestFileThatIsResolvedCountsOnce checks that a file whose answer was lost is one loaded file of its region, also in journals of earlier versions: it
// is recorded when it is found in the table, without a region, and again with the region's files.
func TestFileThatIsResolvedCountsOnce(t *testing.T) {
	lost, other, earlier := []loader.HFile{{Path: "/d/f/lost"}}, []loader.HFile{{Path: "/d/f/other"}}, []loader.HFile{{Path: "/d/f/earlier"}}
	h := New()
	for i, step := range []struct {
		event Event
		data  any
	}{
		{EventLoading, FilesRecord{Files: slices.Concat(lost, other, earlier)}},
		{EventLoaded, FilesRecord{Files: earlier}},
		{EventSending, SendingRecord{Groups: []FilesRecord{{Region: "r", Server: "s:1", Files: slices.Concat(lost, other)}}}},
		{EventUnknown, FilesRecord{Region: "r", Files: slices.Concat(lost, other)}},
		{EventLoaded, FilesRecord{Files: lost}},
		{EventLoaded, FilesRecord{Files: other}},
		{EventLoaded, FilesRecord{Region: "r", Files: slices.Concat(lost, other)}},
	} {
		r, err := journal.NewRecord(int64(i+1), string(step.event), step.data)
		testcheck.Must(t, err)
		testcheck.Must(t, h.Apply(r))
	}
	if want := []Taken{{Region: "r", Server: "s:1", Files: 2}}; h.LoadedFiles != 3 || !slices.Equal(h.Taken, want) {
		t.Errorf("%d files are loaded, regions %+v; want 3 and %+v", h.LoadedFiles, h.Taken, want)
	}
}
