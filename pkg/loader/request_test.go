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

// TestRegionsOfOneReason checks that errors of several regions with one reason are one text, and that each of them is found in it.
func TestRegionsOfOneReason(t *testing.T) {
	table, file := TableName{"default", "t"}, func(place Place) []FileState { return []FileState{{File: HFile{Path: "/x"}, Place: place}} }
	refused := func(region string, place Place, causes ...string) error {
		return errors.Join(&RefusedError{Table: table, Region: Region{Encoded: region}, Files: file(place), Causes: causes}, nil)
	}
	moved := func(region, text string) error {
		return returnedError{&RegionError{Table: table, Region: Region{Encoded: region}, Err: &RemoteError{Class: "RegionMovedException", Message: text}}}
	}
	lost := errors.New("the journal is lost")
	errs := []error{refused("r1", PlaceSource), moved("m1", "to a"), refused("r2", PlaceSource), refused("r3", PlaceSource, "read-only"), lost, refused("r4", PlaceGone),
		refused("r5", PlaceSource), moved("m2", "to a"), moved("m3", "to b"), errors.Join(refused("r6", PlaceSource), lost)}
	err := joinRegions(errs)
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"region r1 ", "m1 ", "region r3 ", "the journal is lost", "region r4 ", "m3 ", "region r6 ", "the journal is lost"} {
		if len(lines) != 8 || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d is not of %s: %q", i, want, lines)
		}
	}
	for i, more := range []string{" (and 2 regions more for the same reason)", " (and 1 region more for the same reason)", "log"} {
		if got := strings.Contains(lines[i], " (and "); got != (i < 2) || got && !strings.HasSuffix(lines[i], more) {
			t.Errorf("%q", lines[i])
		}
	}
	for _, e := range errs {
		if !errors.Is(err, e) {
			t.Errorf("%v is not found", e)
		}
	}
	if err := joinRegions(nil); err != nil {
		t.Error(err)
	}
}
