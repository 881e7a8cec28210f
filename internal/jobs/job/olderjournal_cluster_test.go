package job

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestOlderJournal checks that a job does not resume from a journal without the records of its load, such as one of a backup: files that HBase has
// would be loaded again. With the records it resumes.
func TestOlderJournal(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	p := newProgram(t, buildProgram(t))
	if code, _, stderr := p.run("loaded:1"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	names, err := filepath.Glob(filepath.Join(p.state, "*", journal.FileName))
	if err != nil || len(names) != 1 {
		t.Fatalf("journals %q: %v", names, err)
	}
	whole, err := os.ReadFile(names[0])
	testcheck.Must(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for n, line := range lines {
		if bytes.Contains(line, []byte(`"event":"loading"`)) {
			break
		}
		testcheck.Must(t, os.WriteFile(names[0], bytes.Join(lines[:n+1], nil), 0o600))
		if code, _, stderr := p.run(""); code != 3 || !strings.Contains(stderr, "lacks the load that its copy in") {
			t.Errorf("after %.60s: exit code %d: %s", line, code, stderr)
		}
	}
	testcheck.Must(t, os.WriteFile(names[0], whole, 0o600))
	if code, _, stderr := p.run(""); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
}

// TestCopyOfALostHost checks that another host resumes a job that is killed after any record around the begin of its load, also if the copy of the
// journal in the staging directory has all records of the first host: a load in the copy is in the table of jobs' state too.
func TestCopyOfALostHost(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	for _, after := range []string{"built", "loading", "prepared"} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			h := newHosts(t, name)
			if code, _, stderr := h.on("first").run(after); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			names, err := filepath.Glob(filepath.Join(h.state, "first", "cache", "bulkload", "state", "*", "*", journal.FileName))
			if err != nil || len(names) != 1 {
				t.Fatalf("journals %q: %v", names, err)
			}
			history, err := history.Read(filepath.Dir(names[0]))
			testcheck.Must(t, err)
			fsys, dir, err := h.env.Resolve(history.Plan.Staging)
			testcheck.Must(t, err)
			text, err := os.ReadFile(names[0])
			testcheck.Must(t, err)
			copied := path.Join(dir, staging.JournalName)
			if err := fsys.Remove(t.Context(), copied); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			testcheck.Must(t, hdfsio.WriteFile(t.Context(), fsys, copied, bytes.NewReader(text), hdfsio.CreateOptions{Perm: 0o600}))
			h.lose("first")
			if code, _, stderr := h.on("second").run(""); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			h.judge(programRegions)
		})
	}
}
