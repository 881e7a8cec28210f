package build

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestTwoBuildsInADirectory checks that the build that loses names the other one, and is not to be repeated: the same command would be refused. The
// other's files stay.
func TestTwoBuildsInADirectory(t *testing.T) {
	input := filepath.Join(t.TempDir(), "rows.csv")
	testcheck.Must(t, os.WriteFile(input, []byte("a,b\nk,x\nm,y\nz,z\n"), 0o600))
	s := jobtest.Resolve(t, spec.Spec{Key: "a", Inputs: []string{input}, Timestamp: 1})
	build := func(out string, e progress.Events) error {
		_, err := Directory(t.Context(), jobtest.Env(t), s, jobtest.Family, [][]byte{[]byte("l"), []byte("n")}, out, WorkOptions{Workers: 1, Events: e})
		return err
	}
	for name, events := range map[string]func(out string) progress.Events{
		"built meanwhile": func(out string) progress.Events {
			return progress.Events{OnPhase: func(phase string) {
				if phase == "read" {
					testcheck.Must(t, build(out, progress.Events{}))
				}
			}}
		},
		"ended meanwhile": func(out string) progress.Events {
			return progress.Events{OnHFile: func(progress.HFile) {
				testcheck.Must(t, errors.Join(os.RemoveAll(filepath.Join(out, WritingDir)), os.WriteFile(filepath.Join(out, manifest.FileName), nil, 0o600)))
			}}
		},
	} {
		out := filepath.Join(t.TempDir(), "out")
		err := build(out, events(out))
		if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "another process has built there meanwhile") {
			t.Errorf("%s: kind %s, %v", name, fail.KindOf(err), err)
		}
		if _, err := os.Stat(filepath.Join(out, manifest.FileName)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if hfiles, err := filepath.Glob(filepath.Join(out, jobtest.Family.Name, "*")); name == "built meanwhile" && len(hfiles) != 3 || err != nil {
			t.Errorf("%s: %v, %v", name, hfiles, err)
		}
	}
}
