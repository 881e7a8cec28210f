package lineage

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// newRunID returns a new id of a run. Later ids sort after earlier ones.
func newRunID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// parseParent parses namespace/job/run, the format of Airflow's macro lineage_parent_id. Only the namespace may have
// slashes.
func parseParent(s string) (rootFacet, error) {
	rest, run := cutLast(s)
	namespace, job := cutLast(rest)
	if namespace == "" || job == "" {
		return rootFacet{}, fmt.Errorf("%q is not of the form namespace/job/run", s)
	}
	if err := uuid.Validate(run); err != nil {
		return rootFacet{}, fmt.Errorf("%q: the run %q is not a UUID", s, run)
	}
	return rootFacet{Run: runID{run}, Job: jobID{Namespace: namespace, Name: job}}, nil
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}
