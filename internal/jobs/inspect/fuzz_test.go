package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
)

// FuzzInspect checks that any bytes are inspected without panic, with the same result as the scanner of jobs.
func FuzzInspect(f *testing.F) {
	files, err := filepath.Glob("../../../testdata/source/dialects/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 8<<10 {
			f.Add(data[:len(data)/4], true)
		}
	}
	for _, s := range []string{"", "\n", "a,b\n", "sep=;\n", "sep=", "\xff\xfe", "\ufeff", "\"", "a\x01b\x10", "\\", "a|@|b#@#\nc|@|d#@#\n", "(1 row)\n"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if len(data) > 4<<10 {
			return
		}
		set := textCharsets(data, whole)
		texts := []text{{path: "t", data: data, whole: whole}}
		if decode(&texts[0], set.name) != nil {
			return
		}
		g, err := NewGiven(spec.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		j := &judge{texts: texts}
		v := j.judge(g)
		if len(v.others) > 1 {
			j.difference(v.others[0], v.others[1])
		}
		if v.read == nil {
			return
		}
		if err := j.check(v.read); err != nil {
			t.Fatalf("%s: %v", v.read.dialect.String(), err)
		}
		r := &Report{Format: "text", Files: []File{{Path: "t"}}, Sample: Sample{Files: 1}, reading: v.read, Dialect: Nearest(&v.read.dialect), Writer: v.read.scan.w.what}
		r.profileText(j, []int{0}, g, &Options{Values: true})
		r.finish()
		if job := r.Job(); job != nil {
			if _, err := spec.ParseSpec("job.yaml", job); err != nil {
				t.Fatalf("%v\n%s", err, job)
			}
		}
	})
}
