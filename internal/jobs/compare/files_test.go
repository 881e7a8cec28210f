package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// made makes the sides of a test: exports, and directories of their HFiles.
type made struct {
	t   *testing.T
	env *cluster.Env
	dir string
}

func newMade(t *testing.T) made { return made{t, jobtest.Env(t), t.TempDir()} }

// text returns an export of 2000 rows. The keys aaa and aab are the first two.
func text() string {
	var text strings.Builder
	text.WriteString("id,v\n")
	for i := range 2000 {
		text.WriteString(string(rune('a'+i%26)) + strings.Repeat("k", i%40) + string(rune('a'+i/40%26)) + string(rune('a'+i/1040)) + ",value\n")
	}
	return text.String()
}

// export writes an export.
func (m made) export(name, text string) spec.Job {
	m.t.Helper()
	file := filepath.Join(m.dir, name)
	testcheck.Must(m.t, os.WriteFile(file, []byte(text), 0o600))
	return jobtest.Resolve(m.t, jobtest.CSVSpec(file))
}

// hfiles builds the HFiles of an export, in place of those of an earlier call.
func (m made) hfiles(name string, compression hfile.Compression, js spec.Job, splits ...string) Side {
	m.t.Helper()
	family := spec.DefaultFamily("f")
	family.Compression = compression
	var points [][]byte
	for _, s := range splits {
		points = append(points, []byte(s))
	}
	out := filepath.Join(m.dir, name)
	testcheck.Must(m.t, os.RemoveAll(out))
	_, err := build.Directories(m.t.Context(), m.env, js, []build.Shape{{Families: []spec.Family{family}, Splits: points}}, out, build.WorkOptions{})
	testcheck.Must(m.t, err)
	return Side{Dir: out, Env: m.env}
}

// TestCompareFiles compares directories of HFiles and exports without a cluster, with different splits and compressions.
func TestCompareFiles(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	one := m.export("one.csv", text())
	other := m.export("other.csv", strings.Replace(strings.Replace(text(), "ba,value", "ba,another", 1), "ca,value\n", "new,value\n", 1))
	a := m.hfiles("a", hfile.CompressionSnappy, one, "c", "m")
	o := Options{State: checkpoint.Options{Dir: t.TempDir()}, Differences: filepath.Join(m.dir, "d.jsonl")}
	o.SpillDir = t.TempDir()
	for _, b := range []Side{m.hfiles("b", hfile.CompressionGZ, one, "f", "kkk", "q"), {Export: &one, Env: m.env}} {
		r, err := Run(t.Context(), Request{A: a, B: b, Versions: 1}, o)
		if testcheck.Must(t, err); !r.Equal || r.A.Rows == 0 || r.A.Rows != r.B.Rows || r.Listed != 0 {
			t.Errorf("%+v", r)
		}
	}
	r, err := Run(t.Context(), Request{A: Side{Export: &other, Env: m.env}, B: a, Versions: 1}, o)
	if testcheck.Must(t, err); r.Equal || r.Found.OnlyA != 1 || r.Found.OnlyB != 1 || r.Found.Changed != 1 || r.Found.Values != 1 || r.Listed != 3 {
		t.Errorf("%+v", r)
	}
	if left, _ := os.ReadDir(o.SpillDir); len(left) > 0 {
		t.Errorf("%d entries are left in the spill directory", len(left))
	}
}

// TestCompareExportByTime checks that an export whose job gives its cells no timestamp is not compared by times: its cells are built with the time of the
// comparison, so that all cells of a table would differ from them, and a repair would delete those.
func TestCompareExportByTime(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	given := m.export("one.csv", text())
	none := given.Spec()
	none.Timestamp = 0
	without := jobtest.Resolve(t, none)
	of := none
	of.CellTimestamp = &spec.TimeColumn{Column: "v"}
	column := jobtest.Resolve(t, of)
	for name, r := range map[string]Request{"`since`": {Choice: choice.Choice{Since: 5}}, "`until`": {Choice: choice.Choice{Until: 5}}, "`timestamps`": {Timestamps: true}, "": {}} {
		for _, js := range []*spec.Job{&without, &given, &column} {
			table, export := Side{Table: loader.TableName{Namespace: "default", Qualifier: "t"}, Env: m.env}, Side{Export: js, Env: m.env}
			for i, sides := range [][2]Side{{export, table}, {table, export}} {
				r.A, r.B, r.Versions, r.Repair = sides[0], sides[1], 1, i == 0
				err := r.check(Options{})
				if refused := js == &without && name != ""; refused && (fail.KindOf(err) != fail.Config || !strings.HasPrefix(fmt.Sprint(err), name+" needs the time of each cell")) || !refused && err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestCompareRejects checks that the bad records of an export, whose rows are not compared, are named in the result with a file that stays.
func TestCompareRejects(t *testing.T) {
	t.Parallel()
	m, o := newMade(t), resumable(t)
	whole := m.export("whole.csv", "id,v\n1,a\n3,c\n")
	bad := m.export("bad.csv", "id,v\n1,a\n2\n3,c\n").Spec()
	bad.BadRecords = "10"
	js := jobtest.Resolve(t, bad)
	files, export := m.hfiles("b", hfile.CompressionNone, whole), Side{Export: &js, Env: m.env}
	for i, req := range []Request{{A: export, B: files, Versions: 1}, {A: files, B: export, Versions: 1}} {
		r, err := Run(t.Context(), req, o)
		testcheck.Must(t, err)
		side, other := r.A, r.B
		if i == 1 {
			side, other = r.B, r.A
		}
		text, err := os.ReadFile(side.RejectFile)
		if !r.Equal || side.Rejected != 1 || other.Rejected != 0 || other.RejectFile != "" || err != nil || !strings.Contains(string(text), `"raw":"2"`) {
			t.Errorf("%+v, %s, %v", r, text, err)
		}
	}
}

// TestRepairByPart checks that no table is repaired by a side that is not its whole content: an export with bad records, unless the job file allows it, or a
// side without rows. The rows that it lacks would be deleted.
func TestRepairByPart(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	table := Side{Table: loader.TableName{Namespace: "default", Qualifier: "t"}, Env: m.env}
	for name, c := range map[string]struct {
		text    string
		allowed bool
		err     string
	}{
		"whole":       {"id,v\n1,a\n", false, ""},
		"a bad one":   {"id,v\n1,a\n2\n", false, "table t is not repaired: 1 record rejected, whose rows it would lose ("},
		"allowed":     {"id,v\n1,a\n2\n", true, ""},
		"no rows":     {"id,v\n", true, "table t is not repaired: A has no rows"},
		"all are bad": {"id,v\n2\n", true, "table t is not repaired: A has no rows"},
	} {
		s := m.export(name+".csv", c.text).Spec()
		s.BadRecords, s.AllowEmpty, s.ReplaceRejected = "10", true, c.allowed
		js := jobtest.Resolve(t, s)
		o := resumable(t)
		for _, repair := range []bool{true, false} {
			st, err := checkpoint.Open(t.Context(), nil, checkpoint.IdentifyParts(table.Table, name, fmt.Sprint(repair)).On("c"), o.State, o.Events)
			testcheck.Must(t, err)
			j := &run{req: Request{A: Side{Export: &js, Env: m.env}, B: table, Versions: 1, Repair: repair}, options: o, job: st}
			_, err = j.export(t.Context(), j.req.A, nil)
			if want := c.err; !repair && err != nil || repair && (want == "") != (err == nil) || repair && err != nil && (!strings.HasPrefix(err.Error(), want) || fail.KindOf(err) != fail.Check) {
				t.Errorf("%s, repair %t: %v", name, repair, err)
			}
			testcheck.Must(t, st.Close())
		}
	}
	for _, since := range []int64{0, 5} {
		j := &run{req: Request{A: table, B: table, Versions: 1, Repair: true, Choice: choice.Choice{Since: since}}, result: &result.Comparison{Found: result.Differences{OnlyB: 3}}}
		if refused := j.emptied() != nil; refused != (since == 0) {
			t.Errorf("of the cells since %d: refused %t", since, refused)
		}
	}
}
