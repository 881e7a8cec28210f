package status

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
)

// Cache reads the states of all jobs repeatedly. It does not read a job again whose files have not changed, unless the job runs: the state of a
// running job also depends on the clock and on its process. Cached states omit the fields that grow with a job: its files and split points. The zero
// value is ready to use, by one goroutine at a time.
type Cache struct {
	Words func(*State) // called once for each state that is read. Default: nothing

	known map[string]cached // by directory
}

type cached struct {
	print string
	state *State
}

// ReadAll returns the trimmed states of [ReadAll]. They must not be modified; later calls return them again.
func (c *Cache) ReadAll(dir string) ([]*State, error) {
	now := map[string]cached{}
	jobs, err := readAll(dir, func(dir string) (*State, error) {
		print := printOf(dir)
		if old, ok := c.known[dir]; ok && old.print == print && old.state.State != history.JobRunning {
			now[dir] = old
			return old.state, nil
		}
		s, err := Read(dir)
		if err != nil {
			return nil, err
		}
		s.trim()
		if c.Words != nil {
			c.Words(s)
		}
		now[dir] = cached{print, s}
		return s, nil
	})
	if err == nil {
		c.known = now
	}
	return jobs, err
}

// printOf returns a fingerprint of the files that a job's state is read from.
func printOf(dir string) string {
	var b strings.Builder
	for _, name := range []string{journal.FileName, journal.LockName, LiveName, EndingName, "report.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			fmt.Fprintf(&b, "%s %d %d ", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// maxAttempts is the maximum number of attempts in a trimmed state, the last ones.
const maxAttempts = 20

// trim drops the fields that grow with the job.
func (s *State) trim() {
	s.Taken, s.Files, s.Splits, s.Source = nil, nil, nil, nil
	s.Attempts = slices.Clone(s.Attempts[max(0, len(s.Attempts)-maxAttempts):])
	if s.Result != nil {
		s.Result = s.Result.Summary()
	}
}
