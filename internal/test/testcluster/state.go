package testcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNoCluster means that a directory has no cluster that this package started.
var ErrNoCluster = errors.New("no test cluster here: start one with the command \"cluster up\"")

// stateVersion changes when a reader of the old form could do damage.
const stateVersion = 1

// state is the data that another process needs to use, monitor and stop the cluster. It is written after each start
// of a daemon, so that no daemon runs unrecorded for longer than that takes.
type state struct {
	Version  int                   `json:"version"`
	Dir      string                `json:"dir"`
	Lib      string                `json:"lib"`
	YARNLib  string                `json:"yarn_lib,omitempty"`
	Detached bool                  `json:"detached"`
	HA       bool                  `json:"ha,omitempty"`
	HBase    string                `json:"hbase"` // its version
	Security Security              `json:"security,omitzero"`
	Ports    Ports                 `json:"ports"`
	Roles    []Role                `json:"roles"`
	Daemons  map[Role]*daemonState `json:"daemons"`
}

type daemonState struct {
	identity
	// StartedMS is the wall clock time of the start in milliseconds, for comparison with the start code that HBase's
	// servers derive from theirs.
	StartedMS int64    `json:"started_ms"`
	Command   []string `json:"command"`
}

func readState(dir string) (*state, error) {
	path := layout{dir}.state()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoCluster)
	}
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("state of the test cluster in %s: %w", path, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s was written by another version of this program (%d, not %d): stop its processes by hand and remove it",
			path, s.Version, stateVersion)
	}
	if s.HBase == "" { // written by a program that supported only one version
		s.HBase = DefaultHBase
	}
	if s.Daemons == nil {
		s.Daemons = map[Role]*daemonState{}
	}
	for _, role := range s.Roles {
		if s.Daemons[role] == nil {
			s.Daemons[role] = &daemonState{}
		}
	}
	return &s, nil
}

func (s *state) write() error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := layout{s.Dir}.state()
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// running returns the roles whose recorded process is alive.
func (s *state) running() []Role {
	var roles []Role
	for _, role := range s.Roles {
		if p := s.Daemons[role]; p != nil && p.alive() { // nil: not started yet
			roles = append(roles, role)
		}
	}
	return roles
}
