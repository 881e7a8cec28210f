package loader

import (
	"errors"
	"strings"
	"testing"

	"bulkload/pkg/hdfsio"
)

// TestRequestsThatCannotBe checks that a request with a number or a load mode that does not exist is refused before anything is done.
func TestRequestsThatCannotBe(t *testing.T) {
	whole := LoadRequest{Table: TableName{"default", "t"}, FS: hdfsio.NewMemory(), Files: []HFile{{Family: "f", Path: "/x/a", First: []byte("a"), Last: []byte("b")}}}
	if err := whole.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*LoadRequest){
		"table": func(r *LoadRequest) { r.Table = TableName{} }, "load mode": func(r *LoadRequest) { r.Stage = 9 }, "Calls": func(r *LoadRequest) { r.Calls = -1 },
		"PerServer": func(r *LoadRequest) { r.PerServer = -1 }, "MaxFiles": func(r *LoadRequest) { r.MaxFiles = -5 }, "timestamp": func(r *LoadRequest) { r.Timestamp = -4 },
	} {
		r := whole
		change(&r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTextsOfMadeValues checks that errors without files, and numbers that no constant has, have a text: callers make such values in their tests.
func TestTextsOfMadeValues(t *testing.T) {
	for want, got := range map[string]string{
		"of table t on rs1:16020 refused the load: unknown file; user u": (&RefusedError{Table: TableName{"default", "t"}, Region: Region{Server: "rs1:16020"}, User: "u"}).Error(),
		"refused the load: unknown file; busy; the reason":               (&RefusedError{Causes: []string{"busy"}}).Error(),
		"room in its HDFS quotas; the reason":                            (&RefusedError{}).Error(),
		"whether 0 files were loaded into table t is unknown":            (&UnknownOutcomeError{Table: TableName{"default", "t"}, Err: errors.New("lost")}).Error(),
		"whether 1 files, /x/a among them, were loaded into":             (&UnknownOutcomeError{Files: []HFile{{Path: "/x/a"}}, Err: errors.New("lost")}).Error(),
		"Stage(9)":  Stage(9).String(),
		"Stage(-1)": Stage(-1).String(),
		"Place(9)":  Place(9).String(),
		"Place(-1)": Place(-1).String(),
		"Right(7)":  Right(7).String(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
