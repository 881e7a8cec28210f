package job

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// shared builds an export in three shares for the regions of the table, merges them, and returns the directory of the HFiles on HDFS.
func (l *replaceLab) shared(s spec.Spec) string {
	l.Helper()
	c, err := l.env.Dial(l.Context())
	testcheck.Must(l, err)
	defer c.Close()
	facts, err := cluster.TableFacts(l.Context(), l.env, c, l.table, "f", "g")
	testcheck.Must(l, err)
	dir := "hdfs:///tmp/shares-" + testcheck.Name(l)
	l.Cleanup(func() {
		if fsys, name, err := l.env.Resolve(dir); err == nil {
			_ = fsys.RemoveAll(context.WithoutCancel(l.Context()), name)
		}
	})
	p, err := share.Make(l.Context(), l.env, jobtest.Resolve(l, s), []build.Shape{{Families: facts.Families, Splits: facts.Splits}}, build.WorkOptions{SplitSize: 4 << 10})
	testcheck.Must(l, err)
	for k := range 3 {
		_, err := share.Build(l.Context(), l.env, p, share.Fraction{K: k + 1, N: 3}, dir+"/rows", build.WorkOptions{RejectFile: filepath.Join(l.dir, testcheck.Name(l))})
		testcheck.Must(l, err)
	}
	_, err = share.Merge(l.Context(), l.env, p, dir+"/rows", dir+"/hfiles", share.Fraction{K: 1, N: 1}, build.WorkOptions{})
	testcheck.Must(l, err)
	return dir + "/hfiles"
}

// local builds an export into a local directory.
func (l *replaceLab) local(s spec.Spec) string {
	l.Helper()
	dir := filepath.Join(l.dir, testcheck.Name(l))
	_, err := build.Directory(l.Context(), l.env, jobtest.Resolve(l, s), spec.DefaultFamily("f"), nil, dir, build.WorkOptions{RejectFile: filepath.Join(l.dir, testcheck.Name(l))})
	testcheck.Must(l, err)
	return dir
}

// load replaces the table with a directory.
func (l *replaceLab) load(dir string, o LoadOptions) (*result.Result, error) {
	l.Helper()
	o.Replace, o.Verify, o.State.Dir = true, "full", l.state
	return LoadDir(l.Context(), l.env, l.table, dir, o)
}

// TestReplaceByShares replaces a table with files built by shares, and compares it with a table that has only the export: rows and columns that the
// files do not have are gone, a region splits between the markers and the load, and a local directory has the same effect.
func TestReplaceByShares(t *testing.T) {
	t.Parallel()
	l := newReplaceLab(t, 1, "")
	l.must(l.first())
	second := l.second()
	before, dir := l.admin("digest", l.table), l.shared(second)
	_, err := l.load(dir, LoadOptions{MaxDeletes: "1%"})
	refused(t, err, fail.Check, "20 of the table's 1000 rows are not in the export and would be deleted; the limit is 1%", "`max_deletes`")
	if after := l.admin("digest", l.table); after != before {
		t.Errorf("a load that was refused has changed the table: %s, before %s", after, before)
	}
	l.nothingLeft()
	r, err := l.load(dir, LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Events: progress.Events{OnPhase: func(name string) {
		if name == "load" {
			l.admin("split", l.table, "k0257")
		}
	}}}}})
	testcheck.Must(t, err)
	if x := r.Replace; x == nil || x.Rows != 1000 || x.Deleted != 20 || x.Changed != 30 || x.Markers == 0 || x.Limit != "5%" || r.Verify.Mode != "full" {
		t.Errorf("%+v, %+v", x, r.Verify)
	}
	l.judgeLoad(dir, second, r)
	if r, err := l.load(dir, LoadOptions{}); err != nil || !r.Already || r.Replace == nil || r.Replace.Deleted != 20 || r.Elapsed == 0 {
		t.Errorf("once more: %+v, %v", r, err)
	}

	third := l.export("third.csv", func(i int) string {
		if i >= 990 {
			return ""
		}
		return csvRow(i, i, "")
	})
	dir = l.local(third)
	r, err = l.load(dir, LoadOptions{})
	testcheck.Must(t, err)
	if x := r.Replace; x.Rows != 990 || x.Deleted != 20 {
		t.Errorf("%+v", *x)
	}
	l.judgeLoad("", third, r)
	t.Run("refused", l.loadRefusals)
	l.nothingLeft()
}

// judgeLoad compares the table with one that has only the export, and checks for leftovers of the load.
func (l *replaceLab) judgeLoad(dir string, s spec.Spec, r *result.Result) {
	l.Helper()
	l.nothingLeft()
	l.same(s, r.Manifest.Timestamp)
	if dir != "" {
		(&program{t: l.T, env: l.env}).emptied(dir)
	}
	state, err := status.Read(r.Job)
	testcheck.Must(l, err)
	if state.State != history.JobDone || len(state.Resources) > 0 || state.Replace == nil && state.Fresh == nil {
		l.Errorf("status has %s, %+v", state.State, state.Resources)
	}
	if state.Staging == "" {
		return
	}
	fsys, name, err := l.env.Resolve(state.Staging)
	testcheck.Must(l, err)
	if _, err := fsys.Stat(l.Context(), name); !os.IsNotExist(err) {
		l.Errorf("left behind: %s, %v", state.Staging, err)
	}
}

// loadRefusals checks that refused loads change nothing.
func (l *replaceLab) loadRefusals(t *testing.T) {
	rows := func(i int) string { return csvRow(i, i, "fourth") }
	bad, empty := l.refused(rows)
	stamped := l.export("stamped.csv", func(i int) string { return csvRow(i, "2024-01-01 00:00:00", "stamped") })
	stamped.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "w", Family: "g"}}, CellTimestamp: &spec.TimeColumn{Column: "v"}}
	unknown := l.local(l.export("unknown.csv", rows))
	testcheck.Must(t, os.Remove(filepath.Join(unknown, manifest.FileName)))
	unreplaced := l.export("another.csv", func(i int) string {
		if i >= 1015 {
			return ""
		}
		return rows(i)
	})
	beside := l.local(unreplaced)
	r, err := LoadDir(t.Context(), l.env, l.table, beside, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: l.state}}, Verify: "full"})
	if err != nil || r.Replace != nil {
		t.Fatalf("a load that replaces nothing: %+v, %v", r, err)
	}
	old := l.export("old.csv", rows)
	old.Timestamp = r.Manifest.Timestamp - 1
	before := l.admin("digest", l.table)
	for name, c := range map[string]struct {
		dir  string
		o    LoadOptions
		kind fail.Kind
		says string
	}{
		"rejected":       {l.local(bad), LoadOptions{}, fail.Check, "1 record rejected"},
		"no rows":        {l.local(empty), LoadOptions{}, fail.Check, "the export has no rows"},
		"own timestamps": {l.local(stamped), LoadOptions{}, fail.Config, "gives all cells one timestamp"},
		"newer cells":    {l.local(old), LoadOptions{}, fail.Check, "cells are newer than the job's timestamp"},
		"no manifest":    {unknown, LoadOptions{}, fail.Input, "has no " + manifest.FileName},
		"trusted":        {beside, LoadOptions{TrustFiles: true}, fail.Config, "`trust_files`"},
		"done without":   {beside, LoadOptions{}, fail.Config, "without `replace`"},
		"no limit":       {beside, LoadOptions{MaxDeletes: "many"}, fail.Config, "max_deletes"},
		"into itself":    {beside, LoadOptions{RunOptions: RunOptions{Into: l.table}}, fail.Config, "name another one"},
		"splits alone":   {beside, LoadOptions{RunOptions: RunOptions{Splits: splitAt("k")}}, fail.Config, "`into`"},
		"damaged":        {l.damaged(), LoadOptions{}, fail.Input, "nothing of"},
		"its own rows":   {l.ownRows(), LoadOptions{}, fail.Config, "by its own rows"},
	} {
		c.o.MaxDeletes = cmp.Or(c.o.MaxDeletes, "100%")
		if _, err := l.load(c.dir, c.o); fail.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: kind %d: %v", name, fail.KindOf(err), err)
		}
	}
	if after := l.admin("digest", l.table); after != before {
		t.Errorf("loads that were refused have changed the table: %s, before %s", after, before)
	}
	l.must(l.export("more.csv", rows)) // five more rows
	_, err = l.load(beside, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Restart: true}}})
	refused(t, err, fail.Check, "cells are newer than the job's timestamp", "build the files again")
	r, err = l.load(l.local(unreplaced), LoadOptions{})
	if err != nil || r.Replace.Deleted != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	l.judgeLoad("", unreplaced, r)
}

// damaged returns a directory with a changed byte in a file.
func (l *replaceLab) damaged() string {
	l.Helper()
	dir := l.local(l.export("damaged.csv", func(i int) string { return csvRow(i, i, "damaged") }))
	files, err := filepath.Glob(filepath.Join(dir, "f", "*"))
	if err != nil || len(files) == 0 {
		l.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	testcheck.Must(l, err)
	b[len(b)/3] ^= 1
	testcheck.Must(l, os.WriteFile(files[0], b, 0o600))
	return dir
}

// ownRows returns a directory whose manifest says that it was built from rows of the table.
func (l *replaceLab) ownRows() string {
	l.Helper()
	dir := l.local(l.export("own.csv", func(i int) string { return csvRow(i, i, "own") }))
	m, err := manifest.Read(l.Context(), hdfsio.Local{}, dir)
	testcheck.Must(l, err)
	m.Tables = []string{"snapshot:s", "hbase:" + l.table}
	b, err := manifest.Seal(m)
	testcheck.Must(l, err)
	testcheck.Must(l, os.WriteFile(filepath.Join(dir, manifest.FileName), b, 0o600))
	return dir
}

// TestFreshTableByShares replaces the old table by a new one, filled by files built by shares: with the old table's split points, and with those that
// the files were built for.
func TestFreshTableByShares(t *testing.T) {
	t.Parallel()
	l := newFreshLab(t)
	l.must(l.first())
	second := l.second()
	before, dir := l.admin("digest", l.old.String()), l.shared(second)
	into := func(dir string, o LoadOptions) (*result.Result, error) {
		t.Helper()
		o.Into = l.new.String()
		t.Cleanup(func() { l.remove(l.new) })
		return l.load(dir, o)
	}
	_, err := into(dir, LoadOptions{MaxDeletes: "1%"})
	refused(t, err, fail.Check, "20 of its 1000 rows are not in the export, the limit is 1%", l.old.String())
	if n := l.admin("count", l.new.String()); n != "0" {
		t.Errorf("%s rows were loaded", n)
	}
	_, err = l.drop()
	refused(t, err, fail.Check, "is not finished", l.old.String())
	r, err := into(dir, LoadOptions{})
	testcheck.Must(t, err)
	if f := r.Fresh; r.Table != l.new.String() || f == nil || f.From != l.old.String() || f.Before == nil || *f.Before != (result.Before{Rows: 1000, Missing: 20, Changed: 30, Limit: "5%"}) || r.Replace != nil {
		t.Errorf("%+v", r)
	}
	if after := l.admin("digest", l.old.String()); after != before {
		t.Errorf("the old table has %s, before %s", after, before)
	}
	if got, want := l.described(l.new), l.described(l.old); got != want {
		t.Errorf("the new table is\n%s\nthe old one\n%s", got, want)
	}
	l.sameRegions()
	l.table = l.new.String()
	l.judgeLoad(dir, second, r)
	l.table = l.old.String()
	if r, err := into(dir, LoadOptions{}); err != nil || !r.Already || r.Fresh == nil {
		t.Errorf("once more: %+v %v", r, err)
	}
	_, err = into(dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Restart: true}}})
	refused(t, err, fail.Check, "readers may use it")
	if d, err := l.drop(); err != nil || l.exists(l.old) || !l.exists(l.new) {
		t.Fatalf("%+v %v", d, err)
	}

	l.old, l.new = l.new, freshName(t)
	l.table = l.old.String()
	third := l.export("third.csv", func(i int) string { return csvRow(i, i, "third") })
	dir = l.local(third)
	m, err := manifest.Read(t.Context(), hdfsio.Local{}, dir)
	testcheck.Must(t, err)
	r, err = into(dir, LoadOptions{RunOptions: RunOptions{Splits: func(context.Context, int) ([][]byte, error) { return m.Splits(), nil }}, MaxDeletes: "100%"})
	if err != nil || r.Fresh.Before != nil || r.Regions != len(m.Splits())+1 {
		t.Fatalf("%+v %v", r, err)
	}
	l.table = l.new.String()
	l.judgeLoad("", third, r)
	_, err = fresh.Drop(t.Context(), l.env, r.Job, fresh.DropOptions{Old: l.old, New: l.new})
	testcheck.Must(t, err)
}
