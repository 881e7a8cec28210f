package build_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
)

// TestDialectsOfTheDocumentation reads each file of the table in docs/sources.md with the settings next to it.
func TestDialectsOfTheDocumentation(t *testing.T) {
	const dir = "../../../testdata/source/dialects/"
	doc, err := os.ReadFile("../../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := expectedOf(t, dir)
	seen := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) != 6 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|")), "`")
		}
		file, settings, rows := cells[1], cells[3], cells[4]
		sample, ok := samples[file]
		if !ok {
			continue
		}
		seen++
		t.Run(file, func(t *testing.T) {
			s, err := spec.ParseSpec(file, []byte("{"+settings+"}"))
			if err != nil {
				t.Fatal(err)
			}
			j, err := s.ResolveTable()
			if err != nil {
				t.Fatal(err)
			}
			if d := j.Text(); d.Header == "no" {
				s.Columns = []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
			}
			s.Inputs = []string{dir + file}
			if j, err = s.ResolveTable(); err != nil {
				t.Fatal(err)
			}
			for _, size := range []int64{0, 100} {
				got, err := readTexts(t, j, size)
				switch {
				case rows == "refused":
					if err == nil {
						t.Errorf("splits of %d: it is read", size)
					}
				case err != nil:
					t.Errorf("splits of %d: %v", size, err)
				case fmt.Sprint(len(got)) != rows || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", sample):
					t.Errorf("splits of %d: %d rows, want %s", size, len(got), rows)
					for i := range min(len(got), len(sample)) {
						if got, want := fmt.Sprintf("%q", got[i]), fmt.Sprintf("%q", sample[i]); got != want {
							t.Errorf("row %d:\n%s, want\n%s", i+1, got, want)
						}
					}
				}
			}
		})
	}
	if seen != len(samples) {
		t.Errorf("the table has %d of %d files", seen, len(samples))
	}
}

// expectedOf returns the rows expected from each text of the manifest.
func expectedOf(t *testing.T, dir string) map[string][]map[string]any {
	t.Helper()
	data, err := os.ReadFile(dir + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Samples []struct {
			Path, Format string
			Expected     *string
		}
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	all := map[string][]map[string]any{}
	for _, s := range m.Samples {
		if s.Format != "text" {
			continue
		}
		all[s.Path] = nil
		if s.Expected == nil {
			continue
		}
		f, err := os.Open(filepath.Join(dir, *s.Expected))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var row map[string]any
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			all[s.Path] = append(all[s.Path], row)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// readTexts returns the rows of a job's inputs: each row's values by column, nil for NULL.
func readTexts(t *testing.T, j spec.Job, size int64) (rows []map[string]any, err error) {
	t.Helper()
	env := jobtest.Env(t)
	in, err := build.OpenInput(t.Context(), env.Source, j, build.WorkOptions{SplitSize: size})
	if err != nil {
		return nil, err
	}
	return jobtest.Texts(t.Context(), in.Source)
}
