package cluster

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// TestFamiliesOf checks that the error for a family that the table lacks names no setting: commands that take families from files have none.
func TestFamiliesOf(t *testing.T) {
	table := &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Families: []loader.Family{{Name: "f"}, {Name: "g"}}}
	_, err := FamiliesOf(nil, table, "h")
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), `table t has no family "h" (families: f, g)`) || len(setting.Of(err)) > 0 {
		t.Errorf("%v, with %v", err, setting.Of(err))
	}
}
