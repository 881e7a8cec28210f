package job

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/table"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// observer is one of HBase's own region observers, which has no effect on a table without constraints.
const observer = "|org.apache.hadoop.hbase.constraint.ConstraintProcessor|1073741823|"

// freshLab is a table with many nondefault settings, and a table that is to replace it.
type freshLab struct {
	*replaceLab
	old, new loader.TableName
}

func newFreshLab(t *testing.T) *freshLab {
	l := &freshLab{replaceLab: newReplaceLab(t, 3, "TRUE")}
	l.old, l.new = freshName(t), freshName(t)
	l.table = l.old.String()
	l.make(l.old)
	return l
}

func freshName(t testing.TB) loader.TableName {
	name, err := loader.ParseTableName("test:" + testcheck.Name(t))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// make creates a table with nondefault settings.
func (l *freshLab) make(name loader.TableName) {
	l.Helper()
	c := l.dial()
	defer c.Close()
	f := loader.Family{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomParam: "4", BlockSize: 32 << 10,
		Attributes: map[string]string{"MIN_VERSIONS": "1", "BLOCKCACHE": "false"}, Configuration: map[string]string{"hbase.hstore.blockingStoreFiles": "37"}}
	g := loader.Family{Name: "g", Compression: "GZ", Encoding: "DIFF", Bloom: "ROWCOL", Versions: l.versions, TTL: 86400 * 3650, Attributes: map[string]string{"KEEP_DELETED_CELLS": l.keep}}
	jobtest.MakeTable(l, l.env, c, loader.TableSpec{Name: name, CreateNamespace: true, SplitKeys: [][]byte{[]byte("k0300"), []byte("k0500\x00\xff")}, Families: []loader.Family{f, g},
		Attributes: map[string]string{"MAX_FILESIZE": "7516192768", "SPLIT_POLICY": "org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy", "coprocessor$1": observer, "owner of": "the data"}})
}

func (l *freshLab) dial() *loader.Cluster {
	l.Helper()
	c, err := l.env.Dial(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	return c
}

// into runs a job that makes the new table.
func (l *freshLab) into(s spec.Spec, name loader.TableName, restart bool) (*result.Result, error) {
	l.Cleanup(func() { l.remove(name) })
	return Run(l.Context(), l.env, jobtest.Resolve(l, s), RunOptions{State: checkpoint.Options{Dir: l.state, Restart: restart}, Into: name.String()})
}

// remove drops a table if it exists.
func (l *freshLab) remove(name loader.TableName) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), time.Minute)
	defer cancel()
	c, err := l.env.Dial(ctx)
	if err != nil {
		return // the cluster goes away with the tests
	}
	defer c.Close()
	_ = c.DeleteTable(ctx, name)
}

func (l *freshLab) drop() (*result.Dropped, error) {
	l.Helper()
	dir, err := fresh.FindJob(l.state, l.old, l.new, func() (string, error) { return l.env.ClusterID(l.Context()) })
	if err != nil {
		l.Fatal(err)
	}
	return fresh.Drop(l.Context(), l.env, dir, fresh.DropOptions{Old: l.old, New: l.new})
}

func (l *freshLab) exists(name loader.TableName) bool {
	return l.admin("exists", name.String()) == "true"
}

// described returns the descriptor of a table by HBase's client, without its name.
func (l *freshLab) described(name loader.TableName) string {
	return strings.ReplaceAll(l.admin("describe", name.String()), name.Qualifier, "NAME")
}

// refused checks for an error of a kind.
func refused(t testing.TB, err error, kind fail.Kind, says ...string) {
	t.Helper()
	if fail.KindOf(err) != kind {
		t.Errorf("error of kind %v: %v", fail.KindOf(err), err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

// TestFreshTable replaces old tables by new ones.
func TestFreshTable(t *testing.T) {
	t.Parallel()
	l := newFreshLab(t)
	l.must(l.first())
	second := l.second()
	before := l.admin("digest", l.old.String())

	_, err := l.into(replacing(second, "1%"), l.new, false)
	refused(t, err, fail.Check, "20 of its 1000 rows are not in the export, the limit is 1%", l.old.String(), "`max_deletes`")
	_, err = l.drop()
	refused(t, err, fail.Check, "is not finished", l.old.String())
	if n := l.admin("count", l.new.String()); n != "0" {
		t.Errorf("%s rows were loaded", n)
	}
	r, err := l.into(replacing(second, ""), l.new, false)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Fresh; r.Table != l.new.String() || f == nil || f.From != l.old.String() || f.Before == nil || *f.Before != (result.Before{Rows: 1000, Missing: 20, Changed: 30, Limit: "5%"}) ||
		len(f.Coprocessors) != 1 || f.Coprocessors[0] != observer || r.Replace != nil {
		t.Errorf("%+v", r)
	}
	if after := l.admin("digest", l.old.String()); after != before {
		t.Errorf("the old table has %s, before %s", after, before)
	}
	if got, want := l.described(l.new), l.described(l.old); got != want || !strings.Contains(want, "ConstraintProcessor") {
		t.Errorf("the new table is\n%s\nthe old one\n%s", got, want)
	}
	l.sameRegions()
	l.table = l.new.String()
	l.same(second, r.Manifest.Timestamp)
	l.table = l.old.String()
	l.nothingLeft()
	if s, err := status.Read(r.Job); err != nil || s.Fresh == nil || s.Fresh.From != l.old.String() || !s.Fresh.Made || s.Fresh.Old != history.OldKept || s.Fresh.Compared == nil {
		t.Errorf("%+v %v", s, err)
	}
	if r, err := l.into(replacing(second, ""), l.new, false); err != nil || !r.Already || r.Fresh == nil {
		t.Errorf("once more: %+v %v", r, err)
	}
	_, err = l.into(replacing(second, ""), l.new, true)
	refused(t, err, fail.Check, "readers may use it")

	d, err := l.drop()
	if err != nil || d.Already || d.Table != l.old.String() || l.exists(l.old) || !l.exists(l.new) {
		t.Fatalf("%+v %v", d, err)
	}
	l.make(l.old) // the name is used again
	if _, err := l.drop(); !l.exists(l.old) {
		t.Errorf("once more: %v", err)
	} else {
		refused(t, err, fail.Check, "it was made after this job dropped the one")
	}
	if s, err := status.Read(r.Job); err != nil || s.Fresh.Old != history.OldDropped || s.Fresh.At.IsZero() {
		t.Errorf("%+v %v", s, err)
	}
	t.Run("refused", l.freshRefusals)
}

// splitAt returns the split points of a table of two regions.
func splitAt(row string) fresh.Splits {
	return func(context.Context, int) ([][]byte, error) { return [][]byte{[]byte(row)}, nil }
}

// sameRegions compares split points.
func (l *freshLab) sameRegions() {
	l.Helper()
	c := l.dial()
	defer c.Close()
	var starts [2][]string
	for i, name := range []loader.TableName{l.old, l.new} {
		regions, err := c.Regions(l.Context(), name)
		if err != nil {
			l.Fatal(err)
		}
		for _, r := range regions {
			starts[i] = append(starts[i], string(r.Start))
		}
	}
	if fmt.Sprintf("%q", starts[0]) != fmt.Sprintf("%q", starts[1]) || len(starts[0]) != 3 {
		l.Errorf("regions begin at %q", starts)
	}
}

// freshRefusals checks jobs that find another table than their own.
func (l *freshLab) freshRefusals(t *testing.T) {
	first := l.first()
	taken := l.new
	_, err := l.into(replacing(first, ""), taken, false)
	refused(t, err, fail.Check, taken.String(), "this job did not make it")
	for name, c := range map[string]struct {
		change func(*spec.Spec, *RunOptions)
		says   string
	}{
		"itself":          {func(_ *spec.Spec, o *RunOptions) { o.Into = l.old.String() }, "name another one"},
		"without replace": {func(s *spec.Spec, _ *RunOptions) { s.Replace = false }, "`replace`"},
		"no name":         {func(_ *spec.Spec, o *RunOptions) { o.Into = "a:b:c" }, "`into`"},
		"splits alone":    {func(_ *spec.Spec, o *RunOptions) { o.Into, o.Splits = "", splitAt("k") }, "`into`"},
		"several":         {func(s *spec.Spec, _ *RunOptions) { s.Tables = []spec.TableSpec{{Table: "other", Key: "v"}} }, "makes one table"},
	} {
		s, o := replacing(first, ""), RunOptions{State: checkpoint.Options{Dir: l.state}, Into: freshName(t).String()}
		c.change(&s, &o)
		_, err := Run(t.Context(), l.env, jobtest.Resolve(t, s), o)
		if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Without a comparison, with its own split points; then the old table is another one.
	l.new = freshName(t)
	l.Cleanup(func() { l.remove(l.new) })
	s := replacing(first, "100%")
	r, err := Run(t.Context(), l.env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: l.state}, Into: l.new.String(), Splits: splitAt("k0100")})
	if err != nil || r.Fresh.Before != nil || r.Manifest.HFiles != 4 {
		t.Fatalf("%+v %v", r, err)
	}
	l.admin("drop", l.old.String())
	_, err = l.drop()
	refused(t, err, fail.Check, "it was dropped")
	l.make(l.old)
	_, err = l.drop()
	refused(t, err, fail.Check, "is not dropped", "may not be the one that table", l.old.String())
	if !l.exists(l.old) {
		t.Error("it was dropped")
	}

	// A table that replaces another and was recreated is not the job's.
	l.old, l.new = l.new, freshName(t)
	l.table = l.old.String()
	s.Table, s.Verify = l.old.String(), "off"
	if _, err := l.into(s, l.new, false); err != nil {
		t.Fatal(err)
	}
	_, err = l.drop()
	refused(t, err, fail.Check, "was not verified")
	s.Inputs = []string{filepath.Join(l.dir, "again.csv")}
	if err := os.Link(first.Inputs[0], s.Inputs[0]); err != nil {
		t.Fatal(err)
	}
	l.new, s.Verify = freshName(t), "sample"
	if _, err := l.into(s, l.new, false); err != nil {
		t.Fatal(err)
	}
	l.admin("truncate", l.new.String())
	_, err = l.drop()
	refused(t, err, fail.Check, "is not dropped", "may not be the one that was loaded")
	if !l.exists(l.old) {
		t.Error("it was dropped")
	}
	l.nothingLeft()
}

// freshProgram is the program with a job whose table replaces another.
type freshProgram struct {
	*replaceProgram
	new loader.TableName
}

func newFreshProgram(t *testing.T, name, want string) *freshProgram {
	p := &freshProgram{newReplaceProgram(t, name, want), freshName(t)}
	t.Cleanup(func() { (&freshLab{replaceLab: &replaceLab{T: t, c: p.cluster, env: p.env}}).remove(p.new) })
	return p
}

// into runs the job.
func (p *freshProgram) into(stopAfter string, flags ...string) (code int, stdout, stderr string) {
	return p.replace(stopAfter, append([]string{"--into=" + p.new.String()}, flags...)...)
}

// done runs the job to its end and compares the new table with one that has only the export.
func (p *freshProgram) done(flags ...string) {
	p.t.Helper()
	old := p.digest()
	code, out, says := p.into("", flags...)
	if code != 0 {
		p.t.Fatalf("exit code %d: %s", code, says)
	}
	var r result.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Fresh == nil || r.Fresh.From != p.table || r.Fresh.Before == nil || r.Fresh.Before.Missing == 0 {
		p.t.Errorf("%v: %s", err, out)
	}
	if now := p.digest(); now != old {
		p.t.Errorf("the old table has %s, before %s", now, old)
	}
	was := p.table
	p.table = p.new.String()
	p.judge()
	p.table = was
	p.judgeSnapshots()
}

// judgeSnapshots checks that no snapshots of the old table are left.
func (p *freshProgram) judgeSnapshots() {
	p.t.Helper()
	(&replaceLab{T: p.t, env: p.env, table: p.table}).nothingLeft()
}

// drop runs the command that drops the old table.
func (p *freshProgram) drop(stopAfter string, flags ...string) (code int, stdout, stderr string) {
	return p.run(stopAfter, append([]string{"--replace", "--into=" + p.new.String(), "--drop-old=" + p.table}, flags...)...)
}

// TestFreshTableKilled kills the program after the records of a run into a new table and of the drop of the old one, and runs the same command again.
func TestFreshTableKilled(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	after := []string{"fresh:1", "fresh:2", "loaded:3", "verified"}
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		after = []string{"fresh:1", "fresh:2", "plan", "sorted", "built", "read_snapshot:1", "read_snapshot:2", "read_snapshot:3", "read_snapshot:4", "fresh:3", "loading", "sending", "loaded:1", "loaded:3", "verified", "done"}
	}
	want := freshDigest(t, name)
	for _, event := range after {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			p := newFreshProgram(t, name, want)
			if code, _, says := p.into(event); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
			if event != "done" {
				if code, _, says := p.drop("", "--table="+p.new.String()); code == 0 || !strings.Contains(says, "is not finished") {
					t.Errorf("a drop before the end: exit code %d: %s", code, says)
				}
			}
			p.done()
		})
	}
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		p := newFreshProgram(t, name, want)
		p.done()
		if code, _, says := p.drop(""); code == 0 || !strings.Contains(says, "would find no table") {
			t.Errorf("with the old name in the job file: exit code %d: %s", code, says)
		}
		switched := "--table=" + p.new.String()
		if code, _, says := p.drop("", "--drop-old=test:other", switched); code == 0 || !strings.Contains(says, "no job with state here made") {
			t.Errorf("another table: exit code %d: %s", code, says)
		}
		if code, _, says := p.drop("dropping", switched); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		for i := range 2 {
			code, out, says := p.drop("", switched)
			var d result.Dropped
			if err := json.Unmarshal([]byte(out), &d); code != 0 || err != nil || d.Table != p.table || d.Fresh != p.new.String() || d.Already != (i > 0) {
				t.Fatalf("exit code %d, %v: %s%s", code, err, out, says)
			}
			if there, err := p.cluster.AdminT(t).Run(t.Context(), "exists", p.table); err != nil || there != "false" {
				t.Errorf("the old table: %s %v", there, err)
			}
		}
	})
	t.Run("while it is made", func(t *testing.T) {
		t.Parallel()
		p := newFreshProgram(t, name, want)
		if code, _, says := p.into("fresh:1"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.create()
		p.done()
	})
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		p := newFreshProgram(t, name, want)
		for _, event := range []string{"fresh:2", "loaded:2"} {
			if code, _, says := p.into(event); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
		}
		p.done("--restart")
	})
	t.Run("bad input", func(t *testing.T) {
		t.Parallel()
		p := newFreshProgram(t, name, want)
		right := p.input
		p.input = filepath.Join(p.state, "short.dump")
		if err := os.WriteFile(p.input, []byte("1\x01\x10"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call finds the table of the first
			if code, _, says := p.into(""); code == 0 || strings.Contains(says, "did not make it") {
				t.Errorf("exit code %d: %s", code, says)
			}
		}
		b, err := os.ReadFile(right)
		if err == nil {
			err = os.WriteFile(p.input, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.done()
	})
}

// create makes the new table as the program would.
func (p *freshProgram) create() {
	p.t.Helper()
	c, err := p.env.Dial(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	old, err := loader.ParseTableName(p.table)
	if err != nil {
		p.t.Fatal(err)
	}
	like, err := table.Of(p.t.Context(), c, old)
	if err == nil {
		err = c.CreateTable(p.t.Context(), like.Spec(p.new, like.SplitKeys))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
