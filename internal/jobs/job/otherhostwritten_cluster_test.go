package job

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// TestWrittenFilesAreKeptOnAnotherHost checks that files that a host has finished before its build is killed are not written again by another host.
func TestWrittenFilesAreKeptOnAnotherHost(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	const finished = 4
	h := newHosts(t, buildProgram(t))
	first := h.on("first").command(t.Context(), "written:4:hold")
	testcheck.Must(t, first.Start())
	c, err := h.env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	written := []byte(`"event":"written"`)
	testcheck.Eventually(t, time.Minute, "the table has the records of the finished files", func() (bool, any) {
		n := 0
		testcheck.Must(t, statetable.New(c, h.states).All(t.Context(), func(_ string, content *statetable.Content) error {
			n += bytes.Count(bytes.Join(content.Records, nil), written)
			return nil
		}))
		return n == finished, n
	})
	testcheck.Must(t, first.Process.Kill())
	_ = first.Wait()
	h.lose("first")
	if code, _, stderr := h.on("second").run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	h.judge(programRegions)
	names, err := filepath.Glob(filepath.Join(h.state, "second", "cache", "bulkload", "state", "*", "*", journal.FileName))
	testcheck.Must(t, err)
	if len(names) != 1 {
		t.Fatalf("journals: %v", names)
	}
	b, err := os.ReadFile(names[0])
	testcheck.Must(t, err)
	before, after, _ := bytes.Cut(b, []byte(`"event":"attempt","attempt":2`))
	if old, new := bytes.Count(before, written), bytes.Count(after, written); old != finished || new != programRegions-finished {
		t.Errorf("%d files of the first host and %d of the second, want %d and %d", old, new, finished, programRegions-finished)
	}
}
