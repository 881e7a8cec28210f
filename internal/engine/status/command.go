package status

import (
	"fmt"
	"os"
	"path/filepath"

	"bulkload/internal/engine/history"
)

// CommandName is the file in a job's directory with the last command that worked on the job.
const CommandName = "command.json"

// Command is a command that worked on a job, for starting it again on its host.
type Command struct {
	Schema int               `json:"schema"` // version of this format: 1
	Args   []string          `json:"args"`   // without the program's name, with the date of the inputs
	Dir    string            `json:"dir"`    // working directory
	Host   string            `json:"host"`
	UID    int               `json:"uid"`
	Env    map[string]string `json:"env,omitempty"`   // environment variables of its settings and configuration, without credentials
	Unfit  string            `json:"unfit,omitempty"` // why it must be started by hand
}

// Write writes the command to a job's directory, replacing the previous one.
func (c Command) Write(dir string) error { return writeState(filepath.Join(dir, CommandName), c) }

// Again returns the command that starts the job again on this host, or an error that says why it cannot be started from here.
func (s *State) Again() (*Command, error) {
	switch {
	case s.State == history.JobRunning:
		return nil, fmt.Errorf("the job runs on %s", s.Host)
	case s.Undo != "":
		return nil, fmt.Errorf("its load is taken out again, or is to be: bulkload undo resumes that")
	case !s.Resumable:
		return nil, fmt.Errorf("the job is %s: its command would do nothing", s.State)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if s.Host != "" && s.Host != host {
		return nil, fmt.Errorf("its files are on %s: run its command there", s.Host)
	}
	c := readState[Command](s.Dir, CommandName)
	switch {
	case c == nil || len(c.Args) == 0:
		return nil, fmt.Errorf("its command is not recorded on this host")
	case c.Host != host:
		return nil, fmt.Errorf("its files are on %s: run its command there", c.Host)
	case c.UID != os.Getuid():
		return nil, fmt.Errorf("its command was run by user %d, this is user %d", c.UID, os.Getuid())
	case c.Unfit != "":
		return nil, fmt.Errorf("its command %s: run it by hand", c.Unfit)
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the directory of its command is gone: %s", c.Dir)
	}
	return c, nil
}
