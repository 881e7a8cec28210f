package tablesource

import (
	"fmt"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/loader"
)

// A Ref names a table or a snapshot: one field is set.
type Ref struct {
	Table    loader.TableName // a snapshot of it is taken
	Snapshot string           // an existing snapshot
}

// Parse parses hbase:[NAMESPACE:]TABLE and snapshot:NAME. ok is false for other
// inputs.
func Parse(input string) (r Ref, ok bool, err error) {
	if name, is := strings.CutPrefix(input, cluster.TableScheme); is {
		if r.Table, err = loader.ParseTableName(name); err != nil {
			return Ref{}, true, fmt.Errorf("input %s: %w", input, err)
		}
		return r, true, nil
	}
	if name, is := strings.CutPrefix(input, cluster.SnapshotScheme); is {
		if name == "" || strings.ContainsAny(name, "/:") {
			return Ref{}, true, fmt.Errorf("input %s: %q is not a snapshot name", input, name)
		}
		return Ref{Snapshot: name}, true, nil
	}
	return Ref{}, false, nil
}

// String returns the input that names the table or snapshot.
func (r Ref) String() string {
	if r.Snapshot != "" {
		return cluster.SnapshotScheme + r.Snapshot
	}
	return cluster.TableScheme + r.Table.String()
}
