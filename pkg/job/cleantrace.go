package job

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/journal"
	"bulkload/pkg/staging"
)

// Names in a job's directories.
const (
	traceJournal = journal.FileName
)

// stateDigits is how many digits of what a job is its directory's name has.
const stateDigits = 12

// jobTrace is what a journal tells of a job, as far as its removal depends on
// it. It is read by the names of events and fields alone, so that journals of
// other versions are understood too; where one is not, files count as
// unresolved, and the job stays.
type jobTrace struct {
	id      string // the digits in the name of its directory
	table   string
	staging string // its directory on HDFS
	spill   string // its sorted rows on this machine
	last    time.Time
	done    bool
	records int
	broken  error           // why the journal does not tell what became of the job
	sent    map[string]bool // files of which HBase may have taken some, by name
}

// status is what the journal says became of the job.
func (t jobTrace) status() JobStatus {
	switch {
	case t.broken != nil:
		return JobUnknown
	case t.done:
		return JobDone
	case len(t.sent) > 0:
		return JobUnresolved
	}
	return JobAbandoned
}

func (t jobTrace) unresolved() int { return len(t.sent) }

// readTrace reads the journal in a state directory.
func readTrace(dir string) (jobTrace, error) {
	f, err := os.Open(filepath.Join(dir, traceJournal))
	if err != nil {
		return jobTrace{}, err
	}
	defer f.Close()
	t, err := traceOf(f.Name(), f)
	if info, e := f.Stat(); e == nil && t.last.IsZero() {
		t.last = info.ModTime()
	}
	return t, err
}

// readStagedTrace reads the copy of a journal in a staging directory.
func readStagedTrace(ctx context.Context, fsys hdfsio.FS, dir string) (jobTrace, error) {
	name := path.Join(dir, staging.JournalName)
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return jobTrace{}, err
	}
	defer f.Close()
	return traceOf(name, f)
}

// errNoRecord is a journal that was emptied, or whose only record is torn.
var errNoRecord = errors.New("it has no record")

// traceOf reads a journal. One that cannot be read, or has no record, is
// broken: its job may have files of which HBase has some.
func traceOf(name string, r io.Reader) (jobTrace, error) {
	t, err := parseTrace(name, r)
	if _, reading := errors.AsType[journalReadError](err); reading {
		return t, err
	}
	if err == nil && t.records == 0 {
		err = fmt.Errorf("journal %s: %w", name, errNoRecord)
	}
	t.broken = err
	return t, nil
}

// journalReadError is a journal of which it is not known what it holds.
type journalReadError struct {
	name string
	error
}

func (e journalReadError) Error() string { return "read journal " + e.name + ": " + e.error.Error() }
func (e journalReadError) Unwrap() error { return e.error }

// parseTrace reads a journal: a JSON object on each line. A last line that is
// torn is left out, as a crash in the middle of its writing leaves one.
func parseTrace(name string, r io.Reader) (jobTrace, error) {
	t := jobTrace{sent: map[string]bool{}}
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, journalReadError{name, err}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := t.add(line); err != nil {
			return t, fmt.Errorf("journal %s, line %d: %w", name, n, err)
		}
	}
}

// add takes one record into account.
func (t *jobTrace) add(line []byte) error {
	var head struct {
		Time    time.Time `json:"time"`
		Event   string    `json:"event"`
		Job     string    `json:"job"`
		ID      string    `json:"id"`
		Table   string    `json:"table"`
		Staging string    `json:"staging"`
		Dir     string    `json:"dir"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	t.records++
	if head.Time.After(t.last) {
		t.last = head.Time
	}
	switch head.Event {
	case "plan":
		t.id, t.table, t.staging = head.Job, head.Table, head.Staging
		if t.id == "" {
			t.id = head.ID
		}
		t.id = t.id[:min(len(t.id), stateDigits)]
	case "sending", "unknown", "fencing":
		names, err := recordFiles(line)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			names = []string{"files of a record that names none"}
		}
		for _, name := range names {
			t.sent[name] = true
		}
	case "loaded", "returned", "fenced", "refused", "resolved":
		names, err := recordFiles(line)
		if err != nil {
			return err
		}
		for _, name := range names {
			delete(t.sent, name)
		}
	case "spill":
		t.spill = head.Dir
	case "done":
		t.done = true
		clear(t.sent)
	}
	return nil
}

// fencedName is the end that a file's name gets when a request of which the
// answer was lost must not find it any more.
var fencedName = regexp.MustCompile(`\.r[0-9]+$`)

// recordFiles are the names of the files in a record, without their
// directories: the strings under path, name, file, from and to, and in lists
// of files.
func recordFiles(line []byte) ([]string, error) {
	var record map[string]any
	if err := json.Unmarshal(line, &record); err != nil {
		return nil, err
	}
	var names []string
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case string:
			switch key {
			case "path", "name", "file", "files", "from", "to":
				names = append(names, fencedName.ReplaceAllString(path.Base(v), ""))
			}
		case []any:
			for _, x := range v {
				walk(key, x)
			}
		case map[string]any:
			for k, x := range v {
				if k != "region" { // has a name of its own
					walk(strings.ToLower(k), x)
				}
			}
		}
	}
	walk("", record)
	return names, nil
}

// cleanState is where jobs have their state when nothing else is said.
func cleanState() (string, error) {
	if dir := os.Getenv("BULKLOAD_STATE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "bulkload"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the directory of jobs' state (name it with --state): %w", err)
	}
	return filepath.Join(home, ".local", "state", "bulkload"), nil
}
