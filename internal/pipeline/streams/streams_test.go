package streams

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/formats/spool"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/source"
)

func local(name string) (source.FS, string, error) { return hdfsio.Local{}, name, nil }

// fifo creates a named pipe that returns the bytes once it is opened.
func fifo(t *testing.T, b string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe.csv")
	testcheck.Must(t, syscall.Mkfifo(name, 0o600))
	go func() { _ = os.WriteFile(name, []byte(b), 0) }()
	return name
}

// job is a Job that keeps copies, with its records.
type job struct {
	*Job
	states map[string]State
	notes  int
}

func newJob() *job {
	j := &job{}
	j.Job = &Job{Prefix: "bulkload-", Known: func(place string) State { return j.states[place] }, Remove: func(name string) error { return os.RemoveAll(name) },
		Note: func(r Record) error { j.states = Note(j.states, r); j.notes++; return nil }}
	return j
}

// textOf returns the text that a job reads from an input.
func textOf(t *testing.T, s *Inputs, input string) string {
	t.Helper()
	fsys, name, err := s.Resolve(input)
	testcheck.Must(t, err)
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	b, err := io.ReadAll(f)
	testcheck.Must(t, errors.Join(err, f.Close()))
	return string(b)
}

// kept finds the streams among inputs, and copies them.
func kept(t *testing.T, inputs []string, o Options, j *job, n Needed) (*Inputs, error) {
	t.Helper()
	s, err := Find(t.Context(), local, inputs, nil, j.states)
	testcheck.Must(t, err)
	return s, s.Keep(t.Context(), o, j.Job, n)
}

// TestPlaces checks that standard input and open descriptors are identified by their order, whatever numbers the shell assigns.
func TestPlaces(t *testing.T) {
	got := Places([]string{"a", "/dev/fd/63", Stdin, "/proc/self/fd/9", "/dev/fd/x", "/dev/fd/63/a"})
	if want := map[int]string{1: "/dev/fd/#1", 2: Stdin, 3: "/dev/fd/#2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNote checks the states after sequences of records.
func TestNote(t *testing.T) {
	d := &spool.Digest{Bytes: 9}
	var states map[string]State
	for i, c := range []struct {
		r    Record
		want State
	}{
		{Record{Input: "p", Place: "x", Copy: "c"}, State{Input: "p", Copy: "c"}},
		{Record{Input: "p", Place: "x", Read: &spool.Digest{Bytes: 4}}, State{Input: "p", Read: 4}},
		{Record{Input: "q", Place: "x", Copy: "d"}, State{Input: "q", Copy: "d", Read: 4}},
		{Record{Input: "q", Place: "x", Copy: "d", Read: d, Whole: true}, State{Input: "q", Copy: "d", Whole: true, Digest: d, Read: 4}},
		{Record{Input: "q", Place: "x", Whole: true}, State{Input: "q", Digest: d, Read: 4}},
	} {
		if states = Note(states, c.r); !reflect.DeepEqual(states["x"], c.want) {
			t.Errorf("record %d: %+v, want %+v", i+1, states["x"], c.want)
		}
	}
}

// TestCopiesAreUsedAgain checks that a later attempt reads the copy of an earlier one, even if the stream is gone, that another stream is refused,
// that a damaged copy is not used, and that no copy is left at the end.
func TestCopiesAreUsedAgain(t *testing.T) {
	dir, j, text := t.TempDir(), newJob(), "id,v\n"+strings.Repeat("a,1\n", 50_000)
	scanned := int64(0)
	o, pipe := Options{SpillDir: dir, Events: progress.Events{OnScanned: func(n int64) { scanned += n }}}, fifo(t, text)
	s, err := kept(t, []string{pipe}, o, j, Needed{})
	testcheck.Must(t, err)
	if scanned != int64(len(text)) {
		t.Errorf("%d bytes of %d are reported", scanned, len(text))
	}
	d, ok := s.Digest(0)
	if textOf(t, s, pipe) != text || !ok || d.Bytes != int64(len(text)) || s.Count() != 1 || s.Place(0) != pipe || len(s.Others([]string{pipe, "x"})) != 1 || s.Left(spec.Size(d.Bytes)+5) != 5 {
		t.Fatalf("%+v, %v, %d streams at %q", d, ok, s.Count(), s.Place(0))
	}
	testcheck.Must(t, s.Close())
	testcheck.Must(t, os.Remove(pipe))
	bound := Needed{Bound: true}
	s, err = kept(t, []string{pipe}, o, j, bound) // the stream no longer exists
	testcheck.Must(t, err)
	if again, _ := s.Digest(0); textOf(t, s, pipe) != text || again != d || s.Waiting(j.states) {
		t.Errorf("%+v, %+v", again, d)
	}
	testcheck.Must(t, s.Close())
	for other, want := range map[string]string{text: "", text[1:]: "the input has changed"} {
		testcheck.Must(t, syscall.Mkfifo(pipe, 0o600))
		go func() { _ = os.WriteFile(pipe, []byte(other), 0) }()
		s, err := kept(t, []string{pipe}, o, j, bound)
		if (err == nil) != (want == "") || err != nil && (fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: %v", len(other), err)
		}
		testcheck.Must(t, errors.Join(s.Close(), os.Remove(pipe)))
	}
	b, err := os.ReadFile(j.states[pipe].Copy)
	testcheck.Must(t, err)
	b[len(b)/2] ^= 1
	testcheck.Must(t, os.WriteFile(j.states[pipe].Copy, b, 0o600))
	if _, err := kept(t, []string{pipe}, o, j, bound); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "its copy is gone") {
		t.Errorf("of a damaged copy: %v", err)
	}
	testcheck.Must(t, Drop(j.states, j.Job))
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d copies are left", len(left))
	}
}

// TestLimitOfCopies checks that copies count against the limit of local disk, and that a copy that is too large is removed.
func TestLimitOfCopies(t *testing.T) {
	dir, j := t.TempDir(), newJob()
	_, err := kept(t, []string{fifo(t, strings.Repeat("x", 300_000))}, Options{SpillDir: dir, SpillLimit: 100_000}, j, Needed{})
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "is reached by the copy of the pipe") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 || j.notes < 2 {
		t.Errorf("%d copies are left, %d notes", len(left), j.notes)
	}
}

// TestStandardInput checks that the kind of standard input determines whether it is a stream, and that a stream that is given twice is refused.
func TestStandardInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(file, []byte("id\na\n"), 0o600))
	standing, err := os.Open(file)
	testcheck.Must(t, err)
	defer standing.Close()
	null, err := os.Open(os.DevNull)
	testcheck.Must(t, err)
	defer null.Close()
	r, w, err := os.Pipe()
	testcheck.Must(t, err)
	defer r.Close()
	testcheck.Must(t, w.Close())
	for _, c := range []struct {
		stdin   *os.File
		streams int
		refused bool
		err     string
	}{{standing, 0, false, ""}, {r, 1, true, ""}, {null, 1, true, "standard input has no data: it is closed or /dev/null"}} {
		s, err := Find(t.Context(), local, []string{Stdin, file}, c.stdin, nil)
		testcheck.Must(t, err)
		refusal := Refuse(t.Context(), local, []string{Stdin, file}, c.stdin, "an estimate")
		if s.Count() != c.streams || (refusal != nil) != c.refused {
			t.Errorf("%s: %d streams, %v", c.stdin.Name(), s.Count(), refusal)
		}
		err = s.Keep(context.WithoutCancel(t.Context()), Options{SpillDir: t.TempDir()}, nil, Needed{})
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.stdin.Name(), err)
		}
		if c.stdin == standing && !bytes.Equal([]byte(textOf(t, s, Stdin)), []byte("id\na\n")) {
			t.Error("other text")
		}
		testcheck.Must(t, s.Close())
	}
	pipe := fifo(t, "")
	if _, err := Find(t.Context(), local, []string{pipe, pipe}, nil, nil); fail.KindOf(err) != fail.Config {
		t.Errorf("given twice: %v", err)
	}
	f, err := os.Open(pipe) // the pipe's writer waits
	testcheck.Must(t, errors.Join(err, f.Close()))
}
