package tablesource_test

import (
	"testing"

	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
)

// TestParse parses inputs and formats them again.
func TestParse(t *testing.T) {
	for input, want := range map[string]tablesource.Ref{
		"hbase:check":    {Table: loader.TableName{Namespace: "default", Qualifier: "check"}},
		"hbase:ns:check": {Table: loader.TableName{Namespace: "ns", Qualifier: "check"}},
		"snapshot:night": {Snapshot: "night"},
	} {
		r, ok, err := tablesource.Parse(input)
		if err != nil || !ok || r != want {
			t.Errorf("%s: %+v, %t, %v", input, r, ok, err)
		}
		if r.String() != input {
			t.Errorf("%s is written %s", input, r)
		}
	}
	for _, input := range []string{"hbase:", "hbase:a:b:c", "hbase:../x", "snapshot:", "snapshot:a/b"} {
		if _, ok, err := tablesource.Parse(input); !ok || err == nil {
			t.Errorf("%s: %t, %v", input, ok, err)
		}
	}
	for _, input := range []string{"/data/hbase:check", "hdfs://nn/x", "check.csv", "hdfs:x"} {
		if _, ok, err := tablesource.Parse(input); ok || err != nil {
			t.Errorf("%s: %t, %v", input, ok, err)
		}
	}
}
