package inspect_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"

	"github.com/hamba/avro/v2/ocf"
)

// TestTextlessColumns checks that a column whose type has no text form is refused, unless extra columns are ignored, which the job file then sets.
func TestTextlessColumns(t *testing.T) {
	var b bytes.Buffer
	w, err := ocf.NewEncoder(`{"type":"record","name":"r","fields":[{"name":"id","type":"int"},
		{"name":"what","type":{"type":"record","name":"n","fields":[{"name":"next","type":["null","n"]}]}}]}`, &b)
	if err == nil {
		err = w.Encode(map[string]any{"id": 7, "what": map[string]any{"next": nil}})
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.avro")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := look(t, path, spec.Spec{}, inspect.Options{})
	if len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Reason, "choose columns, or give `extra` ignore") || r.Job() != nil {
		t.Errorf("%+v", r.Refused)
	}
	r = look(t, path, spec.Spec{Reading: spec.Reading{Extra: "ignore"}}, inspect.Options{})
	job := r.Job()
	if len(r.Refused) != 0 || !bytes.Contains(job, []byte("\nextra: ignore ")) {
		t.Fatalf("%+v\n%s", r.Refused, job)
	}
	if rows, err := readJob(t, job, nil); err != nil || fmt.Sprint(rows) != "[map[id:7]]" {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestEmptyNumbersAndWords checks that files with empty numbers, and words for NULL in other columns, cause a doubt, and that the settings that it
// requests decide.
func TestEmptyNumbersAndWords(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%d\x01%s\x01%s\n", i, []string{"", "1.5"}[i%2], []string{`\N`, "a", "b"}[i%3])
	}
	path := filepath.Join(t.TempDir(), "part-00000")
	testcheck.Must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	if r := look(t, path, spec.Spec{}, inspect.Options{}); !r.Doubtful() || r.Job() != nil {
		t.Fatalf("no doubt: %+v", r.Nulls)
	}
	r := look(t, path, spec.Spec{Reading: spec.Reading{Dialect: "hive", NullValue: []string{"", `\N`}}}, inspect.Options{})
	rows, err := readJob(t, r.Job(), nil)
	if err != nil || len(rows) != 40 || rows[0]["c2"] != nil || rows[0]["c3"] != nil || rows[1]["c3"] != "a" {
		t.Errorf("%+v, %v, %v", r.Doubts, rows, err)
	}
}
