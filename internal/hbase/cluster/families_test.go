package cluster

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// TestFamiliesOf: a family that the table lacks is refused without the name of a setting, which commands that take families from files do not have.
func TestFamiliesOf(t *testing.T) {
	table := &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Families: []loader.Family{{Name: "f"}, {Name: "g"}}}
	_, err := FamiliesOf(nil, table, "h")
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), `table t has no family "h" (families: f, g)`) || len(setting.Of(err)) > 0 {
		t.Errorf("%v, with %v", err, setting.Of(err))
	}
}
