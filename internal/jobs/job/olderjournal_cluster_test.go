package job

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
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
