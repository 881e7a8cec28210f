package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// A refusalLab is a plan, with shares of it that tests damage.
type refusalLab struct {
	sharedJob
	input    string
	files    map[string]string // of a single build
	manifest map[string]any
}

// newRefusalLab creates an input and builds it in one process.
func newRefusalLab(t *testing.T) *refusalLab {
	t.Helper()
	dir := t.TempDir()
	r := &refusalLab{input: filepath.Join(dir, "in.csv")}
	doubled(t, r.input, 3000)
	r.sharedJob = sharedJob{t, dir, []string{"--key", "id", "--table", "t", "--input", "in.csv", "--splits", "k00500,k01000", "--duplicates", "first", "--bad-records", "0.15%", "--timestamp", "1700000000000"}}
	r.files, r.manifest = r.local()
	return r
}

// refused runs the program, which must end with the exit code and the message.
func (r *refusalLab) refused(t *testing.T, what string, code int, text string, args ...string) {
	t.Helper()
	out, got := r.program(args...)
	if got != code || !regexp.MustCompile(text).MatchString(out) {
		t.Errorf("%s: exit code %d, want %d: %s", what, got, code, out)
	}
}

// find returns the one file of the shares with a matching name.
func (r *refusalLab) find(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "rows", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v %v", pattern, found, err)
	}
	return found[0]
}

// with calls a function while a file has other bytes.
func (r *refusalLab) with(t *testing.T, name string, b []byte, do func()) {
	t.Helper()
	was, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	testcheck.Must(t, err)
	do()
	testcheck.Must(t, os.WriteFile(name, was, 0o600))
}

// without calls a function while a file does not exist.
func (r *refusalLab) without(t *testing.T, name string, do func()) {
	t.Helper()
	hidden := filepath.Join(r.dir, "hidden")
	testcheck.Must(t, os.Rename(name, hidden))
	do()
	testcheck.Must(t, os.Rename(hidden, name))
}

// TestShareRefusals checks that missing or damaged files, and those of another plan or input, are refused by name,
// with an exit code that shows what helps.
func TestShareRefusals(t *testing.T) {
	r := newRefusalLab(t)
	r.plans(t)
	for k := 1; k <= 3; k++ {
		r.must(shareArgs(k, 3)...)
	}
	r.shares(t)
	r.otherPlans(t)
	r.outputs(t)
	r.otherInput(t)
}

// plans checks that a plan is not overwritten, and that a share needs it.
func (r *refusalLab) plans(t *testing.T) {
	r.plan()
	r.plan() // again: the plan stays unchanged
	r.refused(t, "another plan of that name", 2, `plan is there already, and is the plan of another job`, append(append([]string{"plan", "--quiet", "--out", "plan"}, r.args...), "--key", "n + id")...)
	r.refused(t, "a flag that the plan has", 2, `--key is part of the plan`, append(shareArgs(1, 3), "--key", "id")...)
	r.refused(t, "a share without a plan", 2, `--plan and --share go together`, "build", "--share", "1/3", "--out", "rows")
	r.refused(t, "share 0", 2, `--share: "0/3"`, shareArgs(0, 3)...)
	r.refused(t, "no shares", 5, `no such file or directory`, mergeArgs(1, 1)...)
	r.refused(t, "a stream", 2, `standard input can be read only once`, "plan", "--quiet", "--out", "other", "--key", "id", "--columns", "id", "--input", "-", "--splits", "a")
}

// shares checks that the message names a missing or damaged share.
func (r *refusalLab) shares(t *testing.T) {
	r.refused(t, "another number of shares", 2, `has a share of 3, and of 4`, shareArgs(1, 4)...)

	second := r.find(t, "share-00002-of-00003.*.json")
	r.without(t, second, func() {
		r.refused(t, "a missing share", 5, `1 of 3 shares is missing in rows: 2/3`, mergeArgs(1, 1)...)
	})
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	r.with(t, second, bytes.Replace(b, []byte(`"chunk_size": 524288`), []byte(`"chunk_size": 524289`), 1), func() {
		r.refused(t, "a description that was changed", 5, `share-00002-of-00003.*checksum is wrong`, mergeArgs(1, 1)...)
	})
	chunks := r.find(t, "share-00002-of-00003.*.chunks")
	if b, err = os.ReadFile(chunks); err != nil {
		t.Fatal(err)
	}
	r.with(t, chunks, b[:len(b)-10], func() {
		r.refused(t, "a file that was cut", 5, `share-00002-of-00003.*share 2/3 wrote`, mergeArgs(1, 1)...)
	})
	bad := bytes.Clone(b)
	bad[len(bad)/2] ^= 0x20
	r.with(t, chunks, bad, func() {
		r.refused(t, "a damaged chunk", 5, `damaged.*build that share again`, mergeArgs(1, 1)...)
	})
	r.without(t, chunks, func() {
		r.refused(t, "rows that are gone", 5, `the rows of share 2/3: .*build the share again`, mergeArgs(1, 1)...)
	})
}

// otherPlans checks a share of another plan, and a changed plan.
func (r *refusalLab) otherPlans(t *testing.T) {
	// The same job with another timestamp is another plan.
	r.must(append(append([]string{"plan", "--quiet", "--split-size", "20KiB", "--out", "later"}, r.args...), "--timestamp", "1700000000001")...)
	r.refused(t, "a share of another plan", 5, `is a share of another plan`, slices.Replace(mergeArgs(1, 1), 3, 4, "later")...)
	b, err := os.ReadFile(filepath.Join(r.dir, "plan"))
	if err != nil {
		t.Fatal(err)
	}
	r.with(t, filepath.Join(r.dir, "plan"), bytes.Replace(b, []byte(`1700000000000`), []byte(`1700000000009`), 1), func() {
		r.refused(t, "a plan that was changed", 2, `plan plan: .*checksum is wrong`, shareArgs(1, 3)...)
	})
}

// outputs checks an output in use, and merges with another number. Repeated merges are harmless.
func (r *refusalLab) outputs(t *testing.T) {
	err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "hfiles")), os.MkdirAll(filepath.Join(r.dir, "hfiles", "f"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	r.refused(t, "an output in use", 2, `hfiles is not empty`, mergeArgs(1, 1)...)
	if err := os.RemoveAll(filepath.Join(r.dir, "hfiles")); err != nil {
		t.Fatal(err)
	}
	r.refused(t, "a file as output of a merge", 2, `plan: not a directory: name a directory`, append(mergeArgs(1, 1), "--out", "plan")...)
	r.refused(t, "a file as output", 2, `plan: not a directory: name a directory`, append([]string{"build", "--out", "plan"}, r.args...)...)
	r.must(mergeArgs(1, 2)...)
	r.refused(t, "another number of merges", 2, `has files of merge 1/2, and this is one of 3`, mergeArgs(2, 3)...)
	r.mergedAlready(t, "pending", mergeArgs(1, 2)...)
	r.must(mergeArgs(2, 2)...)
	r.mergedAlready(t, "manifest", mergeArgs(2, 2)...)
	out := r.must(slices.DeleteFunc(mergeArgs(1, 2), func(arg string) bool { return arg == "--quiet" })...)
	if !strings.Contains(out, "the job was done before: nothing to do; it was: ") {
		t.Errorf("a repeated merge says: %s", out)
	}
	r.hold(r.files, r.manifest)
}

// mergedAlready repeats a merge, which is not a new success.
func (r *refusalLab) mergedAlready(t *testing.T, field string, args ...string) {
	t.Helper()
	metrics, events := filepath.Join(t.TempDir(), "m.prom"), filepath.Join(t.TempDir(), "events.jsonl")
	out := r.must(append(args, "--output", "json", "--metrics-file", metrics, "--openlineage", events)...)
	if !strings.Contains(out, `"status":"already"`) || !strings.Contains(out, `"already_done":true,"done_at":"2`) || !strings.Contains(out, `"`+field+`":`) {
		t.Errorf("a repeated merge: %s", out)
	}
	if b, err := os.ReadFile(metrics); err != nil || !strings.Contains(string(b), "bulkload_last_run_already_done 1") {
		t.Errorf("metrics of a repeated merge: %s, %v", b, err)
	}
	if b, err := os.ReadFile(events); err == nil {
		t.Errorf("events of a repeated merge: %s", b)
	}
}

// otherInput checks an input that has changed since the plan.
func (r *refusalLab) otherInput(t *testing.T) {
	f, err := os.OpenFile(r.input, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("k99999,more,1\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	r.refused(t, "a share of another input", 5, `the input has changed since the plan was made: .*in.csv`, shareArgs(1, 3)...)
	r.refused(t, "a merge of another input", 5, `the input has changed since the plan was made: .*in.csv`, mergeArgs(1, 2)...)
}
