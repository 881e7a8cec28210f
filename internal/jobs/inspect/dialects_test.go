package inspect_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
)

const samples = "../../../testdata/source/dialects/"

type sample struct {
	Path, Format string
	Readable     *bool
	Expected     *string
	Read         struct{ Columns []string }
}

func manifest(t testing.TB) []sample {
	t.Helper()
	data, err := os.ReadFile(samples + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Samples []sample }
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m.Samples
}

func expected(t testing.TB, name string) (rows []map[string]any) {
	t.Helper()
	f, err := os.Open(filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// readJob reads the inputs of a job file that inspect has written.
func readJob(t testing.TB, file []byte, names []string) ([]map[string]any, error) {
	t.Helper()
	s, err := spec.ParseSpec("job.yaml", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	if len(s.Columns) == len(names) && s.Format == "" {
		s.Columns = names
	}
	j, err := s.ResolveTable()
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	in, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, j, build.WorkOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := jobtest.Texts(t.Context(), in.Source)
	if err == nil {
		profiled(t, j, rows)
	}
	return rows, err
}

func look(t testing.TB, path string, s spec.Spec, o inspect.Options) *inspect.Report {
	t.Helper()
	r, err := inspect.Run(t.Context(), jobtest.Env(t).Source, []string{path}, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answers returns the table of docs/sources.md: samples of text that inspect cannot decide itself, and the settings that decide.
func answers(t testing.TB) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "### What inspect asks")
	section, _, _ = strings.Cut(section, "\n## ")
	found := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) == 5 {
			found[strings.Trim(strings.TrimSpace(cells[1]), "`")] = strings.Trim(strings.TrimSpace(cells[3]), "`")
		}
	}
	return found
}

// TestSamples reads files of exporters with the job file that inspect writes, without settings, except for those of the documentation: they are in
// doubt, and are read correctly with the settings there.
func TestSamples(t *testing.T) {
	asked := answers(t)
	for _, s := range manifest(t) {
		t.Run(s.Path, func(t *testing.T) {
			r := look(t, samples+s.Path, spec.Spec{}, inspect.Options{})
			answer, ask := asked[s.Path]
			if ask != r.Doubtful() && (s.Format == "text" || r.Doubtful()) {
				t.Fatalf("doubts: %+v, and the documentation says %q", r.Doubts, answer)
			}
			if ask && r.Job() != nil {
				t.Error("there is a job file")
			}
			if ask && answer == "none" {
				return
			}
			if ask {
				given, err := spec.ParseSpec("answer", []byte("{"+answer+"}"))
				if err != nil {
					t.Fatal(err)
				}
				if r = look(t, samples+s.Path, *given, inspect.Options{}); r.Doubtful() {
					t.Fatalf("doubts with %s: %+v", answer, r.Doubts)
				}
			}
			job := r.Job()
			if job == nil {
				if len(r.Refused) == 0 || s.Format == "text" {
					t.Errorf("no job file, and nothing is refused: %+v", r)
				}
				return
			}
			rows, err := readJob(t, job, s.Read.Columns)
			if err != nil {
				t.Fatalf("%v\n%s", err, job)
			}
			if s.Expected != nil && !strings.HasSuffix(s.Format, "-dir") {
				same(t, rows, expected(t, *s.Expected))
			}
			if s.Expected != nil && len(rows) != len(expected(t, *s.Expected)) {
				t.Errorf("%d rows, want %d", len(rows), len(expected(t, *s.Expected)))
			}
			builds(t, r, job)
		})
	}
}

func same(t testing.TB, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		for name := range got[i] {
			if _, ok := want[i][name]; !ok && i < len(want) {
				delete(got[i], name) // not in the expected rows
			}
		}
		if g, w := fmt.Sprintf("%q", got[i]), fmt.Sprintf("%q", want[i]); g != w {
			t.Errorf("row %d:\n%s, want\n%s", i+1, g, w)
			return
		}
	}
}
