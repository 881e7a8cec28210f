package job

import (
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestCheckPhoenix checks that a table that may have indexes of Phoenix is refused, and that it is a warning if they are ignored.
func TestCheckPhoenix(t *testing.T) {
	closed := new(loader.Cluster) // does not answer whether there are indexes
	testcheck.Must(t, closed.Close())
	of := func(class string) *cluster.Facts {
		return &cluster.Facts{Table: &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Attributes: map[string]string{"coprocessor$1": "|" + class + "|1|"}}}
	}
	const indexer = "org.apache.phoenix.hbase.index.Indexer"
	for name, c := range map[string]struct {
		class, indexes  string
		refused, warned bool
	}{
		"refused":       {indexer, "", true, false},
		"ignored":       {indexer, "ignore", false, true},
		"another table": {"com.example.Audit", "", false, false},
	} {
		warned := false
		err := CheckPhoenix(t.Context(), closed, of(c.class), c.indexes, progress.Events{OnWarn: func(string, ...any) { warned = true }})
		if c.refused != (fail.KindOf(err) == fail.Check && strings.Contains(err.Error(), "table t is a Phoenix table with perhaps indexes")) || err != nil && !c.refused || warned != c.warned {
			t.Errorf("%s: %v, warned %t", name, err, warned)
		}
	}
}
