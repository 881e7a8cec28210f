package lineage

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// NewRunID makes the id of a run; later ones sort after earlier ones.
func NewRunID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// ParseParent reads namespace/job/run, as Airflow's macro lineage_parent_id writes it. Only the namespace may have slashes.
func ParseParent(s string) (RootFacet, error) {
	rest, run := cutLast(s)
	namespace, job := cutLast(rest)
	if namespace == "" || job == "" {
		return RootFacet{}, fmt.Errorf("%q is not of the form namespace/job/run", s)
	}
	if err := uuid.Validate(run); err != nil {
		return RootFacet{}, fmt.Errorf("%q: the run %q is not a UUID", s, run)
	}
	return RootFacet{Run: RunID{run}, Job: JobID{Namespace: namespace, Name: job}}, nil
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}
