package export

import (
	"fmt"
	"path/filepath"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// TestLoadExportLoad builds check and opinion, exports the table in each format, and builds the export: the HFiles are the same byte for byte.
func TestLoadExportLoad(t *testing.T) {
	env := jobtest.Env(t)
	for _, c := range []struct {
		table, file, empty string
		modulus            int
	}{
		{"check", "check.csv", "skip", 10}, {"check", "check.dump", "store", 10}, {"check", "check.parquet", "", 10},
		{"opinion", "opinion.csv", "skip", 50}, {"opinion", "opinion.parquet", "store", 50},
	} {
		if race.Reduced(t) && c.table == "opinion" {
			continue
		}
		s := jobtest.Spec(t, c.table)
		s.Inputs, s.Empty, s.Timestamp = []string{jobtest.Export(t, c.file)}, c.empty, 1700000000000
		splits := partition.SaltSplits(c.modulus)
		first, m := built(t, env, s, splits)
		snap := labBuild(t, first, m, splits)
		var digest manifest.Digest
		for _, format := range Formats() {
			if c.empty == "" && (format == "csv" || format == "dump") {
				continue // of these a job makes nothing of an empty text, and of Parquet an empty cell
			}
			job := jobtest.Resolve(t, s)
			p, err := Compile(Options{Format: Format(format), Job: &job, Workers: 3})
			testcheck.Must(t, err)
			dir := filepath.Join(t.TempDir(), "out")
			made, err := p.Run(t.Context(), snap, hdfsio.Local{}, dir)
			if err != nil {
				t.Errorf("%s, %s, empty %q: %v", c.file, format, c.empty, err)
				continue
			}
			if made.Digest.Rows != m.Digest.Rows || made.Digest.Cells != m.Digest.Cells || len(made.Files) != len(m.Files) || made.NoCells+made.LeftOver != 0 {
				t.Errorf("%s, %s: %+v, built were %s in %d files", c.file, format, made, m.Digest, len(m.Files))
			}
			if digest.Rows == 0 {
				digest = made.Digest
			} else if made.Digest != digest {
				t.Errorf("%s, %s: digest %s, of another format %s", c.file, format, made.Digest, digest)
			}
			again := s
			again.Inputs = []string{dir}
			second, _ := built(t, env, again, splits)
			if a, b := jobtest.Hashes(t, first), jobtest.Hashes(t, second); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s, %s, empty %q: the files of what was exported are others: %d and %d", c.file, format, c.empty, len(a), len(b))
			}
		}
	}
}

// built builds a job's files.
func built(t *testing.T, env build.Files, s spec.Spec, splits [][]byte) (string, *manifest.Manifest) {
	t.Helper()
	dir := t.TempDir()
	family, err := s.ApplyTo(jobtest.Family)
	testcheck.Must(t, err)
	m, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), family, splits, dir, build.WorkOptions{})
	testcheck.Must(t, err)
	return dir, m
}
