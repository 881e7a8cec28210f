package job

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// replaceLab is a table with the families f and g, and exports of it.
type replaceLab struct {
	*testing.T
	c        *testcluster.Cluster
	env      *cluster.Env
	dir      string
	state    string
	versions int // of the family g
	keep     string
	table    string
}

// newTable creates a table of two regions.
func (l *replaceLab) newTable() string {
	l.Helper()
	c, err := l.env.Dial(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	defer c.Close()
	name, err := loader.ParseTableName("test:" + testcheck.Name(l))
	if err != nil {
		l.Fatal(err)
	}
	f := loader.Family{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROW"}
	g := f
	g.Name, g.Bloom, g.Versions = "g", "ROWCOL", l.versions
	if l.keep != "" {
		g.Attributes = map[string]string{"KEEP_DELETED_CELLS": l.keep}
	}
	jobtest.MakeTable(l, l.env, c, loader.TableSpec{Name: name, CreateNamespace: true, SplitKeys: [][]byte{[]byte("k0500")}, Families: []loader.Family{f, g}})
	return name.String()
}

func newReplaceLab(t *testing.T, versions int, keep string) *replaceLab {
	c := testcluster.Shared(t)
	l := &replaceLab{T: t, c: c, env: jobtest.ClusterEnv(t, c), dir: t.TempDir(), state: t.TempDir(), versions: versions, keep: keep}
	l.table = l.newTable()
	return l
}

// export writes rows into a file, and returns its job.
func (l *replaceLab) export(name string, rows func(i int) string) spec.Spec {
	l.Helper()
	var csv strings.Builder
	csv.WriteString("id,v,w\n")
	for i := range 1020 {
		csv.WriteString(rows(i))
	}
	in := filepath.Join(l.dir, name)
	if err := os.WriteFile(in, []byte(csv.String()), 0o600); err != nil {
		l.Fatal(err)
	}
	return spec.Spec{Table: l.table, Inputs: []string{in}, Key: "id", Verify: "full", Empty: "skip",
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "v"}, {Column: "w", Family: "g"}}}}
}

func csvRow(i int, v, w any) string { return fmt.Sprintf("k%04d,%v,%v\n", i, v, w) }

// first has 1000 rows; second lacks 20 of them, has 10 others, and 30 of its rows have lost the cell of a family.
func (l *replaceLab) first() spec.Spec {
	return l.export("first.csv", func(i int) string {
		if i >= 1000 {
			return ""
		}
		return csvRow(i, i, "first")
	})
}

func (l *replaceLab) second() spec.Spec {
	return l.export("second.csv", func(i int) string {
		switch {
		case i%50 == 7 && i < 1000 || i >= 1010:
			return ""
		case i%33 == 1 && i < 990:
			return csvRow(i, "", "second")
		}
		return csvRow(i, i, "second")
	})
}

// run runs a job and calls on when a phase begins.
func (l *replaceLab) run(ctx context.Context, s spec.Spec, on func(phase string)) (*result.Result, error) {
	o := RunOptions{State: checkpoint.Options{Dir: l.state}}
	if on != nil {
		o.WorkOptions = build.WorkOptions{Events: progress.Events{OnPhase: on}}
	}
	return Run(ctx, l.env, jobtest.Resolve(l, s), o)
}

func (l *replaceLab) must(s spec.Spec) *result.Result {
	l.Helper()
	r, err := l.run(l.Context(), s, nil)
	if err != nil {
		l.Fatal(err)
	}
	return r
}

func (l *replaceLab) admin(do, table string, args ...string) string {
	l.Helper()
	out, err := l.c.AdminT(l).Run(l.Context(), append([]string{do, table}, args...)...)
	if err != nil {
		l.Fatal(err)
	}
	return out
}

// same compares the table with a new one that has only the export: all that HBase's client sees, including timestamps and older versions.
func (l *replaceLab) same(s spec.Spec, stamp int64) {
	l.Helper()
	s.Table, s.Replace, s.Timestamp = l.newTable(), false, stamp
	l.must(s)
	if got, want := l.admin("versions", l.table), l.admin("versions", s.Table); got != want || len(want) < 1000 {
		l.Errorf("the table has %d bytes of cells, one with the export alone %d", len(got), len(want))
	}
	if got, want := l.admin("digest", l.table), l.admin("digest", s.Table); got != want {
		l.Errorf("the table has %s, one with the export alone %s", got, want)
	}
}

// nothingLeft checks that no snapshots of the table are left.
func (l *replaceLab) nothingLeft() {
	l.Helper()
	if left := l.snapshots(); len(left) > 0 {
		l.Errorf("snapshots are left: %q", left)
	}
}

func (l *replaceLab) snapshots() (names []string) {
	l.Helper()
	fsys, root, err := l.env.Resolve(l.env.Conf.Value("hbase.rootdir"))
	if err != nil {
		l.Fatal(err)
	}
	left, err := fsys.ReadDir(l.Context(), root+"/.hbase-snapshot")
	if err != nil {
		l.Fatal(err)
	}
	_, base, _ := strings.Cut(l.table, ":")
	for _, f := range left {
		if strings.Contains(f.Name(), base) {
			names = append(names, f.Name())
		}
	}
	return names
}

func replacing(s spec.Spec, most string) spec.Spec {
	s.Replace, s.MaxDeletes = true, most
	return s
}

// TestReplaceTable replaces the rows of a table by exports, and compares it with a table that has only the export.
func TestReplaceTable(t *testing.T) {
	t.Parallel()
	l := newReplaceLab(t, 1, "")
	l.must(l.first())
	second := l.second()
	before := l.admin("digest", l.table)
	if _, err := l.run(t.Context(), replacing(second, "1%"), nil); fail.KindOf(err) != fail.Check ||
		!strings.Contains(err.Error(), "20 of the table's 1000 rows are not in the export and would be deleted; the limit is 1%") || !strings.Contains(err.Error(), "`max_deletes`") {
		t.Fatalf("with a limit of 1%%: %v", err)
	}
	if after := l.admin("digest", l.table); after != before {
		t.Errorf("a run that was refused has changed the table: %s, before %s", after, before)
	}
	l.nothingLeft()
	l.predicts(replacing(second, "1%"), replace.Prediction{Rows: 1000, Deleted: 20, Seen: 20, OneOf: 1, Limit: "1%", Refused: true})
	l.predicts(replacing(second, "2%"), replace.Prediction{Rows: 1000, Deleted: 20, Seen: 20, OneOf: 1, Limit: "2%"})
	l.nothingLeft()
	// A region splits between the markers and the load.
	r, err := l.run(t.Context(), replacing(second, ""), func(name string) {
		if name == "load" {
			l.admin("split", l.table, "k0257")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if x := r.Replace; x.Rows != 1000 || x.Deleted != 20 || x.Changed != 30 || x.Markers == 0 || x.Limit != "5%" {
		t.Errorf("%+v", *x)
	}
	l.nothingLeft()
	l.same(second, r.Manifest.Timestamp)
	if r := l.must(replacing(second, "")); !r.Already || r.Replace == nil || r.Replace.Deleted != 20 {
		t.Errorf("once more: %+v", r)
	}

	t.Run("others write", l.othersWrite)
	t.Run("refused", l.refusals)
	l.nothingLeft()
}

// predicts checks the prediction of a plan.
func (l *replaceLab) predicts(s spec.Spec, want replace.Prediction) {
	l.Helper()
	got, err := replace.Predict(l.Context(), l.env, jobtest.Resolve(l, s), build.WorkOptions{})
	if err != nil || *got != want {
		l.Errorf("predicted are %+v %v, not %+v", got, err, want)
	}
}

// TestReplaceVerifiedByFiles replaces a table in mode files: files with delete markers are checked like all others, and if a compaction has rewritten
// files before, the row count replaces their check.
func TestReplaceVerifiedByFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	l := newReplaceLab(t, 1, "")
	l.must(l.first())
	second := l.second()
	second.Verify = "files"
	r := l.must(replacing(second, ""))
	if v := r.Verify; v.Mode != "files" || v.Files.Files != r.Manifest.HFiles+r.Replace.Files || r.Replace.Files == 0 {
		t.Errorf("%+v of %d HFiles and %d with markers", v.Files, r.Manifest.HFiles, r.Replace.Files)
	}
	l.same(second, r.Manifest.Timestamp)
	third := l.export("third.csv", func(i int) string { return csvRow(i, "", i) })
	third.Verify = "files"
	r, err := l.run(t.Context(), replacing(third, ""), func(name string) {
		if name == "verify" {
			l.admin("major-compact", l.table)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Verify; v.Files.Compacted == 0 || r.Replace.Files == 0 {
		t.Errorf("%+v", v.Files)
	}
	l.same(third, r.Manifest.Timestamp)
	l.nothingLeft()
}

// TestReplaceCompacted replaces a table again after a compaction, in mode sample.
func TestReplaceCompacted(t *testing.T) {
	t.Parallel()
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("belongs to make test-faults")
	}
	l := newReplaceLab(t, 1, "")
	l.must(l.first())
	l.must(replacing(l.second(), ""))
	l.admin("major-compact", l.table)
	third := l.export("third.csv", func(i int) string {
		if i >= 990 {
			return ""
		}
		return csvRow(i, i, "")
	})
	third.Verify = "sample"
	r := l.must(replacing(third, ""))
	if r.Replace.Rows != 990 || r.Replace.Deleted != 20 {
		t.Errorf("%+v", *r.Replace)
	}
	l.same(third, r.Manifest.Timestamp)
	l.nothingLeft()
}

// othersWrite checks that a row written after the snapshot is detected, and nothing else.
func (l *replaceLab) othersWrite(t *testing.T) {
	s := replacing(l.export("others.csv", func(i int) string {
		if i >= 985 {
			return ""
		}
		return csvRow(i, "others", "")
	}), "25")
	_, err := l.run(t.Context(), s, func(name string) {
		if name == "load" {
			l.admin("put", l.table, "k9999", "f:v", "later")
		}
	})
	if fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "readers see 986 rows and 986 cells, want 985 and 985") {
		t.Fatalf("with a row of others: %v", err)
	}
	if kept := l.snapshots(); len(kept) != 1 || !strings.Contains(err.Error(), kept[0]) {
		t.Errorf("the snapshots %q are kept", kept)
	}
	l.admin("delete", l.table, "k9999")
	r := l.must(s)
	if r.Already || r.Replace == nil || r.Replace.Deleted != 25 {
		t.Errorf("%+v", r)
	}
	l.nothingLeft()
	l.same(s, r.Manifest.Timestamp)
}

// refusals checks that refused jobs change nothing.
func (l *replaceLab) refusals(t *testing.T) {
	rows := func(i int) string {
		if i >= 985 {
			return ""
		}
		return csvRow(i, i, "fourth")
	}
	few := l.export("few.csv", func(i int) string {
		if i > 10 {
			return ""
		}
		return csvRow(i, i, "newest")
	})
	done := l.must(few)
	if done.Replace != nil {
		t.Errorf("%+v", done.Replace)
	}
	if _, err := l.run(t.Context(), replacing(few, ""), nil); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "without `replace`") {
		t.Errorf("a job that was done without: %v", err)
	}
	newest := few
	newest.Inputs = []string{filepath.Join(l.dir, "newest.csv")}
	if err := os.Link(few.Inputs[0], newest.Inputs[0]); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour).UnixMilli()
	newest.Timestamp = future
	l.must(newest)
	before := l.admin("digest", l.table)
	bad, empty := l.refused(rows)
	for name, c := range map[string]struct {
		s    spec.Spec
		kind fail.Kind
		says string
	}{
		"newer cells": {l.export("fourth.csv", rows), fail.Check, fmt.Sprintf("the newest is of %d, which is later than now", future)},
		"rejected":    {bad, fail.Check, "1 record rejected"},
		"no rows":     {empty, fail.Check, "the export has no rows"},
		"itself":      {spec.Spec{Table: l.table, Inputs: []string{"hbase:" + l.table}, Key: "$row", Columns: []string{"$row", "f:v"}}, fail.Config, "by its own rows"},
		"several": {func() spec.Spec {
			s := l.export("several.csv", rows)
			s.Tables = []spec.TableSpec{{Table: "other", Key: "v"}}
			return s
		}(), fail.Config, "takes one table"},
	} {
		_, err := l.run(t.Context(), replacing(c.s, "100%"), nil)
		if fail.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := l.admin("digest", l.table); after != before {
		t.Errorf("runs that were refused have changed the table: %s, before %s", after, before)
	}
}

// TestReplaceVersions replaces tables that keep more versions than readers see.
func TestReplaceVersions(t *testing.T) {
	t.Parallel()
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("belongs to make test-faults")
	}
	for name, keep := range map[string]string{"three versions": "", "and deleted cells": "TRUE"} {
		t.Run(name, func(t *testing.T) {
			l := newReplaceLab(t, 3, keep)
			l.must(l.first())
			r := l.must(replacing(l.first2(), ""))
			l.same(l.first2(), r.Manifest.Timestamp)
			r = l.must(replacing(l.second(), ""))
			if r.Replace.Deleted != 20 || r.Replace.Changed != 30 || r.Replace.Markers != 20+30+1000 {
				t.Errorf("%+v", *r.Replace)
			}
			l.same(l.second(), r.Manifest.Timestamp)
			l.admin("major-compact", l.table)
			l.same(l.second(), r.Manifest.Timestamp)
			l.nothingLeft()
		})
	}
}

// first2 has the rows of the first export with other values.
func (l *replaceLab) first2() spec.Spec {
	return l.export("first2.csv", func(i int) string {
		if i >= 1000 {
			return ""
		}
		return csvRow(i, i+1, "first2")
	})
}

// replaceProgram is the program with a job of an export that lacks two of a hundred rows of its table and has one additional row.
type replaceProgram struct {
	*program
	want   string // digest of a table with only the export
	hfiles string // directory of the export's HFiles to load; empty: the export is run
}

// newReplaceProgram returns a program whose table was filled by a job of the same program.
func newReplaceProgram(t *testing.T, name, want string) *replaceProgram {
	p := &replaceProgram{program: newProgram(t, name), want: want}
	all, err := os.ReadFile(jobtest.Export(t, "check.dump"))
	if err != nil {
		t.Fatal(err)
	}
	records := slices.Collect(strings.SplitAfterSeq(string(all), "\x10"))
	if records[len(records)-1] == "" || records[len(records)-1] == "\n" {
		records = records[:len(records)-1]
	}
	write := func(name string, keep func(i int) bool) string {
		var b strings.Builder
		for i, r := range records {
			if keep(i) {
				b.WriteString(r)
			}
		}
		file := filepath.Join(p.state, name)
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	p.input = write("before.dump", func(i int) bool { return i%100 != 3 })
	if code, _, says := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.input = write("after.dump", func(i int) bool { return i%50 != 7 })
	return p
}

// replace runs or loads the second export.
func (p *replaceProgram) replace(stopAfter string, flags ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	flags = append([]string{"--replace"}, flags...)
	if p.hfiles != "" {
		return p.load(stopAfter, p.hfiles, flags...)
	}
	return p.run(stopAfter, flags...)
}

// digest returns the digest of the table, read by HBase's client.
func (p *replaceProgram) digest() string {
	p.t.Helper()
	got, err := p.cluster.AdminT(p.t).Digest(p.t.Context(), p.table)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

// judge compares the table with one that has only the export, and checks for leftovers.
func (p *replaceProgram) judge() {
	p.t.Helper()
	if got := p.digest(); got != p.want {
		p.t.Errorf("the table has %s, one with the export alone %s", got, p.want)
	}
	l := &replaceLab{T: p.t, env: p.env, table: p.table}
	l.nothingLeft()
	fsys, _, err := p.env.Resolve("hdfs:///")
	if err != nil {
		p.t.Fatal(err)
	}
	_, base, _ := strings.Cut(p.table, ":")
	for _, dir := range []string{"/tmp/bulkload-tina", "/hbase/staging"} {
		left, err := fsys.ReadDir(p.t.Context(), dir)
		if err != nil {
			continue
		}
		for _, x := range left {
			if strings.Contains(x.Name(), base) {
				p.t.Errorf("left behind: %s/%s", dir, x.Name())
			}
		}
	}
}

// freshDigest returns the digest of a table with only the export.
func freshDigest(t *testing.T, name string) string {
	p := newReplaceProgram(t, name, "")
	p.table = jobtest.FreshTable(t, p.env, programRegions, nil)
	if code, _, says := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	return p.digest()
}

// TestReplaceKilled kills the program after the records of a replacing run, and runs the same command again.
func TestReplaceKilled(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	after := []string{"replaced"}
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		// read_snapshot: the trial snapshot, its deletion, the compared snapshot, its deletion
		after = []string{"read_snapshot:1", "read_snapshot:2", "read_snapshot:3", "replaced", "loading", "prepared", "sending", "loaded:1", "loaded:3", "cleaned", "read_snapshot:4", "verified", "done"}
	}
	want := freshDigest(t, name)
	for _, event := range after {
		t.Run(event, func(t *testing.T) {
			t.Parallel() // each has a table of its own, and waits for HBase most of the time
			p := newReplaceProgram(t, name, want)
			if code, _, says := p.run(event, "--replace"); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
			code, out, says := p.run("", "--replace")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, says)
			}
			var r result.Result
			if err := json.Unmarshal([]byte(out), &r); err != nil || r.Replace == nil || r.Replace.Deleted == 0 {
				t.Errorf("%v: %s", err, out)
			}
			p.judge()
		})
	}
	if len(after) == 1 {
		return
	}
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		p := newReplaceProgram(t, name, want)
		for _, event := range []string{"read_snapshot:3", "loaded:2"} {
			if code, _, says := p.run(event, "--replace"); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
		}
		if code, _, says := p.run("", "--replace", "--restart"); code != 0 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.judge()
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		p := newReplaceProgram(t, name, want)
		if code, _, says := p.run("replaced", "--replace"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.run("loaded:1"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.run("", "--replace"); code == 0 || !strings.Contains(says, "--replace") {
			t.Fatalf("asked for after the load had begun: exit code %d: %s", code, says)
		}
		code, out, says := p.run("")
		if code != 0 || strings.Contains(out, `"replace":`) {
			t.Fatalf("exit code %d: %s%s", code, out, says)
		}
		if got := p.digest(); got == p.want {
			t.Errorf("rows that are not in the export are gone without being asked for")
		}
	})
	for i := range 6 {
		t.Run(fmt.Sprintf("any time %d", i), func(t *testing.T) {
			t.Parallel()
			p := newReplaceProgram(t, name, want)
			cmd := p.command(t.Context(), "", "--replace")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// A random time after the request for the snapshot, given by the seed: the kill does not wait for a condition.
			testcheck.Eventually(t, 3*time.Minute, "the snapshot is asked for", func() (bool, any) {
				n := p.lastJob("read_snapshot")
				return n >= 1+i%2*2, n
			})
			moment := time.NewTimer(time.Duration(testcheck.Rand(t).IntN(600)) * time.Millisecond)
			<-moment.C
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if code, _, says := p.run("", "--replace"); code != 0 {
				t.Fatalf("exit code %d: %s", code, says)
			}
			p.judge()
		})
	}
}

// lastJob counts records of the job of the second export, which has no state when it begins.
func (p *replaceProgram) lastJob(event string) (n int) {
	files, err := filepath.Glob(filepath.Join(p.state, "*", "journal.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		n += strings.Count(string(b), `"event":"`+event+`"`)
	}
	return n
}

// refused returns exports that cannot replace a table: one with a bad record, which is set aside, and one without rows.
func (l *replaceLab) refused(rows func(i int) string) (bad, empty spec.Spec) {
	bad = l.export("bad.csv", func(i int) string {
		if i == 5 {
			return "k0005\n"
		}
		return rows(i)
	})
	bad.BadRecords = "1"
	empty = l.export("empty.csv", func(int) string { return "" })
	empty.AllowEmpty = true
	return bad, empty
}
