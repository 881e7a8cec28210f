package history

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
)

func severalTables(change func(*spec.TableSpec)) spec.Spec {
	x := spec.TableSpec{Table: "x", Key: "v", Columns: []string{"id"}}
	if change != nil {
		change(&x)
	}
	return spec.Spec{Table: "t", Key: "id + v", Inputs: []string{"/in"}, Timestamp: 5, Tables: []spec.TableSpec{{Index: "i", Table: "by_v", Key: "v + id"}, x}}
}

// TestTablesAreInThePlan compares a job's settings of its further tables with its plan, by table, and rebuilds their plans.
func TestTablesAreInThePlan(t *testing.T) {
	plan := func(s spec.Spec) PlanRecord {
		p := Asked(jobtest.Resolve(t, s), nil)
		p.Columns = []string{"id", "v"}
		p.Tables = AskedTables(jobtest.Resolve(t, s), nil)
		for i := range p.Tables {
			p.Tables[i].Family = jobtest.Family
			if p.Tables[i].Mapping != nil {
				p.Tables[i].Families = []spec.Family{jobtest.Family}
			}
		}
		return p
	}
	was := plan(severalTables(nil))
	for says, change := range map[string]func(*spec.TableSpec){
		"":                             nil,
		"table x: the mapping was":     func(s *spec.TableSpec) { s.Columns = []string{"v"} },
		"table x: duplicates was fail": func(s *spec.TableSpec) { s.Duplicates = "last" },
		"table x: the filter was the job's, it is id != ''": func(s *spec.TableSpec) { s.Filter = "id != ''" },
		"table x: empty was skip":                           func(s *spec.TableSpec) { s.Empty = "store" },
		"the list of further tables was [x by":              func(s *spec.TableSpec) { s.Table = "y" },
	} {
		err := was.Same(plan(severalTables(change)))
		if (err == nil) != (says == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
	for i, want := range []string{"x [{f id}]", "by_v [{f _row}]"} {
		p, err := was.Of(1+i).BuildPlan(jobtest.Family, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&build.Resume{Done: &build.Done{Built: &manifest.Manifest{}}}).Manifests([]build.Table{{Plan: p}})
		if err != nil || fmt.Sprint(p.Table, " ", m[0].Cells) != want || p.Timestamp != 5 {
			t.Errorf("%v: %s %v at %d, want %s", err, p.Table, m[0].Cells, p.Timestamp, want)
		}
	}
	one := severalTables(nil)
	one.Tables = nil
	if err := was.Same(plan(one)); err == nil {
		t.Error("a job without its further tables is the same")
	}
}
