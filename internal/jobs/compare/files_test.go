package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
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
