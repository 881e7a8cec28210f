package build

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/partition"
)

const samples = "../../../testdata/source/dialects/"

// piped returns a pipe into which the bytes are written.
func piped(t testing.TB, b []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = w.Write(b) // the reader may stop
		_ = w.Close()
	}()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// fifo creates a named pipe into which the bytes are written once it is opened.
func fifo(t testing.TB, name string, b []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(name, b, 0) }()
	return name
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

// buildOf builds a spec into a new directory.
func buildOf(t testing.TB, s spec.Spec, w WorkOptions) (map[string]string, error) {
	t.Helper()
	out := t.TempDir()
	_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, w)
	return jobtest.Hashes(t, out), err
}

// TestStreamsGiveTheSameFiles reads each format from standard input, from a named pipe and from a descriptor, and compares
// the HFiles with those of the file.
func TestStreamsGiveTheSameFiles(t *testing.T) {
	workers := []int{1, 2, 7}
	if race.Reduced(t) {
		workers = workers[2:]
	}
	check := jobtest.Spec(t, "check")
	columns := []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
	dialect := func(name string, columns ...string) spec.Spec {
		s := jobtest.CSVSpec()
		s.Dialect, s.Columns = name, columns
		return s
	}
	for _, c := range []struct {
		file string
		spec spec.Spec
		pack bool
	}{
		{jobtest.Export(t, "check.csv"), check, false},
		{jobtest.Export(t, "check.csv"), check, true},
		{jobtest.Export(t, "check.dump"), check, false},
		{jobtest.Export(t, "check.dump"), check, true},
		{jobtest.Export(t, "check.parquet"), check, false},
		{samples + "mysql/outfile-csv.csv", dialect("mysql-csv", columns...), false},
		{samples + "mysql/batch.tsv", dialect("mysql-batch"), false},
		{samples + "spark/csv-default.csv", dialect("spark"), false},
		{samples + "jq/jq-c.jsonl", dialect("", columns...), false},
		{samples + "spark/avro-deflate.avro", dialect("", "id", "name"), false},
	} {
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%s,%t", filepath.Base(c.file), c.pack), func(t *testing.T) {
			s := c.spec
			s.Timestamp, s.Inputs = 1700000000000, []string{c.file}
			spill := t.TempDir()
			w := WorkOptions{SplitSize: 3000, SpillDir: spill}
			want, err := buildOf(t, s, w)
			if err != nil {
				t.Fatal(err)
			}
			sent, name := data, filepath.Base(c.file)
			if c.pack {
				sent, name = gzipped(t, data), name+".gz"
			}
			same := func(how string, w WorkOptions) {
				t.Helper()
				got, err := buildOf(t, s, w)
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
					t.Errorf("%s gives other files", how)
				}
				if left, err := os.ReadDir(spill); err != nil || len(left) > 0 {
					t.Errorf("%s leaves %v %v", how, left, err)
				}
			}
			for _, w.Workers = range workers {
				w.Stdin, s.Inputs = piped(t, sent), []string{"-"}
				same("standard input", w)
			}
			s.Inputs = []string{fifo(t, name, sent)}
			same("a named pipe", w)
			r := piped(t, sent)
			s.Inputs = []string{fmt.Sprintf("/dev/fd/%d", r.Fd())}
			same("a descriptor", w)
			file, err := os.Open(c.file)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			w.Stdin, s.Inputs = file, []string{"-"}
			same("standard input from a file", w)
		})
	}
}

// TestStreamAndFiles reads two pipes that one writer fills alternately, and a file.
func TestStreamAndFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	if err := errors.Join(syscall.Mkfifo(a, 0o600), syscall.Mkfifo(b, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := filepath.Join(dir, "c.csv")
	if err := os.WriteFile(c, []byte("id,v\nc,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const rows = 40_000 // more than a pipe holds
	writer := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf(`exec 3>"$1" 4>"$2"; echo id,v >&3; echo id,v >&4
		seq -f '%%.0fa,1' 1 %d >&4; seq -f '%%.0fb,1' 1 %d >&3`, rows, rows), "sh", a, b)
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	s := jobtest.CSVSpec(a, b, c)
	n := int64(2*rows + 1)
	s.Expect = &n
	if _, err := buildOf(t, s, WorkOptions{}); err != nil {
		t.Fatal(err) // the writer may wait for a reader
	}
	if err := writer.Wait(); err != nil {
		t.Error(err)
	}
}

// TestStreamOfADeadWriter kills the writer in the middle of the stream.
func TestStreamOfADeadWriter(t *testing.T) {
	data, err := os.ReadFile(jobtest.Export(t, "check.dump"))
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndexByte(data[:len(data)/2], 0x10) + 1 // where the truncation is not detectable
	killed := func(b []byte) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		cat := exec.Command("cat")
		in, err := cat.StdinPipe()
		cat.Stdout = w
		if err = errors.Join(err, cat.Start(), w.Close()); err != nil {
			t.Fatal(err)
		}
		read, send := io.Pipe()
		got, keep, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = got.Close() })
		go func() { // the bytes written before the writer is killed
			_, _ = io.Copy(send, r)
			_ = send.Close()
		}()
		go func() {
			_, _ = in.Write(b)
		}()
		go func() {
			_, _ = io.CopyN(keep, read, int64(len(b)))
			_ = cat.Process.Kill()
			_, _ = io.Copy(keep, read)
			_ = cat.Wait()
			_ = keep.Close()
		}()
		return got
	}
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{"-"}
	if _, err := buildOf(t, s, WorkOptions{Stdin: killed(data[:cut])}); err != nil {
		t.Errorf("a dump that ends behind a record: %v", err)
	}
	n := int64(3000)
	s.Expect = &n
	_, err = buildOf(t, s, WorkOptions{Stdin: killed(data[:cut])})
	if fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), "records, and 3000 are expected (`expect_records`)") {
		t.Errorf("with a count: %v", err)
	}
	packed := gzipped(t, data)
	_, err = buildOf(t, s, WorkOptions{Stdin: killed(packed[:len(packed)/2])})
	if fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), "the file is truncated") {
		t.Errorf("packed: %v", err)
	}
	if _, err := buildOf(t, s, WorkOptions{Stdin: piped(t, data)}); err != nil {
		t.Errorf("all of it: %v", err)
	}
}

// TestStreamsThatAreRefused checks the errors for inputs that are not streams, and for streams that cannot be read.
func TestStreamsThatAreRefused(t *testing.T) {
	open := func(name string) *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	closed := open(os.DevNull)
	_ = closed.Close()
	csv := []byte("id,v\n1,2\n")
	pipe := fifo(t, "x.csv", nil)
	link := filepath.Join(t.TempDir(), "link.csv")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		inputs []string
		w      WorkOptions
		kind   fail.Kind
		want   string
	}{
		"null device":     {[]string{"-"}, WorkOptions{Stdin: open(os.DevNull)}, fail.Input, "standard input has no data: it is closed or /dev/null"},
		"closed":          {[]string{"-"}, WorkOptions{Stdin: closed}, fail.Input, "it is closed or /dev/null"},
		"terminal":        {[]string{"-"}, WorkOptions{Stdin: open("/dev/ptmx")}, fail.Input, "it is a terminal or another device: pipe the export in"},
		"empty":           {[]string{"-"}, WorkOptions{Stdin: piped(t, nil)}, fail.Input, "input -: it is an empty file: see that the export is complete (`allow_empty` accepts"},
		"twice":           {[]string{"-", "-"}, WorkOptions{Stdin: piped(t, csv)}, fail.Config, "one stream: give it once"},
		"two names":       {[]string{pipe, link}, WorkOptions{}, fail.Config, "are one stream"},
		"being written":   {[]string{fifo(t, "x.tmp", nil)}, WorkOptions{}, fail.Input, "is being written, as its ending .tmp says"},
		"limit":           {[]string{"-"}, WorkOptions{Stdin: piped(t, make([]byte, 3<<20)), SpillLimit: 1 << 20}, fail.Config, "the limit of 1.0 MiB for local disk (`spill_limit`) is reached by the copy of standard input after 1048576 bytes"},
		"no directory":    {[]string{"-"}, WorkOptions{Stdin: piped(t, csv), SpillDir: "/nowhere/at/all"}, fail.Config, "copy of standard input: "},
		"a wrong setting": {[]string{"-"}, WorkOptions{Stdin: open("/dev/ptmx"), RejectFile: "/dev/null"}, fail.Config, "/dev/null"}, // before anything is read
	} {
		s := jobtest.CSVSpec(c.inputs...)
		s.BadRecords = "1"
		_, err := buildOf(t, s, c.w)
		if fail.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: kind %d, %v", name, fail.KindOf(err), err)
		}
	}
}

// TestStreamIsStopped stops a job that waits for a stream's data, and for a writer.
func TestStreamIsStopped(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(w.Close(), r.Close()) }()
	none := filepath.Join(t.TempDir(), "x.csv")
	if err := syscall.Mkfifo(none, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"-", none} {
		ctx, cancel := context.WithCancel(t.Context())
		o := WorkOptions{Stdin: r, SpillDir: t.TempDir()}
		o.Events.OnNote = func(string, ...any) { cancel() }
		_, err := OpenInput(ctx, jobtest.Env(t).Source, jobtest.Resolve(t, jobtest.CSVSpec(input)), o)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", input, err)
		}
		if left, _ := os.ReadDir(o.SpillDir); len(left) > 0 {
			t.Errorf("%s: left %v", input, left)
		}
	}
	unblock, err := os.OpenFile(none, os.O_RDWR, 0) // ends the remaining open call
	if err != nil {
		t.Fatal(err)
	}
	_ = unblock.Close()
}
