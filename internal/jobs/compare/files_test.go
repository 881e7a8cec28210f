package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// TestCompareFiles compares directories of HFiles and exports without a cluster, with different splits and compressions.
func TestCompareFiles(t *testing.T) {
	t.Parallel()
	env, dir := jobtest.Env(t), t.TempDir()
	write := func(name, text string) spec.Job {
		file := filepath.Join(dir, name)
		testcheck.Must(t, os.WriteFile(file, []byte(text), 0o600))
		return jobtest.Resolve(t, jobtest.CSVSpec(file))
	}
	var text strings.Builder
	text.WriteString("id,v\n")
	for i := range 2000 {
		text.WriteString(string(rune('a'+i%26)) + strings.Repeat("k", i%40) + string(rune('a'+i/40%26)) + string(rune('a'+i/1040)) + ",value\n")
	}
	one := write("one.csv", text.String())
	other := write("other.csv", strings.Replace(strings.Replace(text.String(), "ba,value", "ba,another", 1), "ca,value\n", "new,value\n", 1))
	hfiles := func(name string, compression hfile.Compression, js spec.Job, splits ...string) Side {
		family := spec.DefaultFamily("f")
		family.Compression = compression
		var points [][]byte
		for _, s := range splits {
			points = append(points, []byte(s))
		}
		out := filepath.Join(dir, name)
		_, err := build.Directories(t.Context(), env, js, []build.Shape{{Families: []spec.Family{family}, Splits: points}}, out, build.WorkOptions{})
		testcheck.Must(t, err)
		return Side{Dir: out, Env: env}
	}
	a := hfiles("a", hfile.CompressionSnappy, one, "c", "m")
	o := Options{State: checkpoint.Options{Dir: t.TempDir()}, Differences: filepath.Join(dir, "d.jsonl")}
	o.SpillDir = t.TempDir()
	for _, b := range []Side{hfiles("b", hfile.CompressionGZ, one, "f", "kkk", "q"), {Export: &one, Env: env}} {
		r, err := Run(t.Context(), Request{A: a, B: b, Versions: 1}, o)
		if testcheck.Must(t, err); !r.Equal || r.A.Rows == 0 || r.A.Rows != r.B.Rows || r.Listed != 0 {
			t.Errorf("%+v", r)
		}
	}
	r, err := Run(t.Context(), Request{A: Side{Export: &other, Env: env}, B: a, Versions: 1}, o)
	if testcheck.Must(t, err); r.Equal || r.Found.OnlyA != 1 || r.Found.OnlyB != 1 || r.Found.Changed != 1 || r.Found.Values != 1 || r.Listed != 3 {
		t.Errorf("%+v", r)
	}
	if left, _ := os.ReadDir(o.SpillDir); len(left) > 0 {
		t.Errorf("%d entries are left in the spill directory", len(left))
	}
}
