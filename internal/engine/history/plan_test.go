package history

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
)

// TestEveryFieldOfReadingIsCompared checks that a new field of the record is compared automatically.
func TestEveryFieldOfReadingIsCompared(t *testing.T) {
	for i := range reflect.TypeFor[readingRecord]().NumField() {
		was, now := &readingRecord{}, &readingRecord{}
		f := reflect.ValueOf(now).Elem().Field(i)
		if f.Kind() != reflect.String {
			t.Fatalf("field %d is a %s", i, f.Kind())
		}
		f.SetString("new")
		if all := was.differences(now); len(all) != 1 || !strings.HasSuffix(all[0], " was not given, it is new") || strings.HasPrefix(all[0], " ") {
			t.Errorf("field %d: %q", i, all)
		}
		if all := now.differences(now); len(all) != 0 {
			t.Errorf("field %d: %q", i, all)
		}
	}
}

// TestReadingHasDefaultsFilledIn checks that an explicit default changes nothing.
func TestReadingHasDefaultsFilledIn(t *testing.T) {
	for name, c := range map[string]struct {
		formats []string
		a, b    spec.Spec
		same    bool
	}{
		"csv":                     {[]string{"csv"}, spec.Spec{}, spec.Spec{Header: "yes", FieldSep: ",", RecordSep: `\x10`, BadRecords: "0%"}, true},
		"dump":                    {[]string{"dump"}, spec.Spec{}, spec.Spec{Header: "no", FieldSep: `\x01`, RecordSep: `\x10`, BadRecords: "0"}, true},
		"parquet has no header":   {[]string{"parquet"}, spec.Spec{}, spec.Spec{Header: "no", FieldSep: ";"}, true},
		"a share":                 {[]string{"csv"}, spec.Spec{BadRecords: "0.50%"}, spec.Spec{BadRecords: ".5%"}, true},
		"a number with zeros":     {[]string{"csv"}, spec.Spec{BadRecords: "007"}, spec.Spec{BadRecords: "7"}, true},
		"a share is not a number": {[]string{"csv"}, spec.Spec{BadRecords: "7%"}, spec.Spec{BadRecords: "7"}, false},
		"separators of two kinds": {[]string{"csv", "dump"}, spec.Spec{}, spec.Spec{FieldSep: ","}, false},
		"charset of lines":        {[]string{"json"}, spec.Spec{}, spec.Spec{Reading: spec.Reading{Charset: "gbk"}}, false},
		"charset of no lines":     {[]string{"parquet"}, spec.Spec{}, spec.Spec{Reading: spec.Reading{Charset: "gbk"}}, true},
		"separators of one kind":  {[]string{"csv", "csv.gz"}, spec.Spec{}, spec.Spec{FieldSep: ","}, true},
	} {
		a, b := readingOf(jobtest.Resolve(t, c.a), c.formats), readingOf(jobtest.Resolve(t, c.b), c.formats)
		if (*a == *b) != c.same {
			t.Errorf("%s: %+v and %+v", name, *a, *b)
		}
	}
}

// TestEmptyIsWhatFilesMakeOfIt checks that a plan has the effective handling, so that it compares with the defaults of earlier versions.
func TestEmptyIsWhatFilesMakeOfIt(t *testing.T) {
	for _, c := range []struct {
		spec    spec.Spec
		formats []string
		want    string
	}{
		{spec.Spec{}, nil, "skip"},
		{spec.Spec{}, []string{"csv", "dump.gz", "csv.rejects"}, "skip"},
		{spec.Spec{}, []string{"parquet", "avro", "json.gz", "json.rejects"}, "store"},
		{spec.Spec{}, []string{"parquet", "csv"}, "by file"},
		{spec.Spec{}, []string{"text.rejects"}, "by file"},
		{spec.Spec{Reading: spec.Reading{Dialect: "mysql"}}, []string{"text.gz", "parquet"}, "store"},
		{spec.Spec{Reading: spec.Reading{Dialect: "mysql", NullValue: spec.Texts{"none"}}}, []string{"text"}, "skip"},
		{spec.Spec{Empty: "skip"}, []string{"parquet"}, "skip"},
		{spec.Spec{Empty: "store"}, []string{"csv"}, "store"},
	} {
		p := Asked(jobtest.Resolve(t, c.spec), c.formats)
		if p.Empty != c.want {
			t.Errorf("%+v of %q: %s, want %s", c.spec, c.formats, p.Empty, c.want)
		}
		if p.Columns, p.Key = []string{"id"}, "id"; c.want == "by file" {
			if plan, err := p.BuildPlan(jobtest.Family, nil); err != nil || plan.Empty != "" {
				t.Errorf("%q, %v", plan.Empty, err)
			}
		}
	}
}

// TestFormatThatWasFoundIsCompared checks that detected formats are compared, whatever format was configured.
func TestFormatThatWasFoundIsCompared(t *testing.T) {
	input := func(format string) []InputRecord {
		return []InputRecord{{Input: "a", Place: "/a", Format: format}}
	}
	was := PlanRecord{Inputs: input("csv")}
	if err := was.Same(PlanRecord{Inputs: input("dump")}); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "the format of a was csv, it is dump") {
		t.Errorf("error is %v", err)
	}
	for _, now := range []PlanRecord{{Inputs: input("csv"), Format: "csv"}, {Inputs: input("")}} {
		if err := was.Same(now); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherChoiceIsNamed checks that another choice is reported, and not the changed sizes of table parts.
func TestOtherChoiceIsNamed(t *testing.T) {
	asked := spec.Spec{Table: "t", Key: "id", Inputs: []string{"hbase:s"}}
	record := func(a choice.Asked, size int64) PlanRecord {
		s := asked
		s.Choice = a
		p := Asked(jobtest.Resolve(t, s), nil)
		p.Inputs = []InputRecord{{Input: "hbase:s", Place: "hbase:s/1", Size: size}}
		return p
	}
	err := record(choice.Asked{StopRow: "m"}, 5).Same(record(choice.Asked{StopRow: "n"}, 0))
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "choice was stop_row m, it is stop_row n") {
		t.Error(err)
	}
	if err := record(choice.Asked{StopRow: "m"}, 5).Same(record(choice.Asked{StopRow: "m"}, 6)); fail.KindOf(err) != fail.Input {
		t.Error(err)
	}
}

// TestTableIsKnownAgain checks that a table is identified by its state, its directory and its regions.
func TestTableIsKnownAgain(t *testing.T) {
	regions := []RegionRecord{{"a", 1}, {"b", 2}}
	for name, c := range map[string]struct {
		was, now TableRecord
		left     []string
		want     Sameness
	}{
		"untouched":                      {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 1, Dir: 7, Regions: regions}, nil, SameTable},
		"all split":                      {TableRecord{State: 1, Regions: regions}, TableRecord{State: 1}, nil, SameTable},
		"root directory copied":          {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 1, Dir: 8}, nil, SameTable},
		"out of service":                 {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 2, Dir: 7}, nil, SameTable},
		"made again":                     {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 2, Dir: 8}, []string{"a"}, OtherTable},
		"out of service, not readable":   {TableRecord{State: 1, Regions: regions}, TableRecord{State: 2, Dir: 8}, []string{"x", "b"}, SameTable},
		"nothing left, not readable now": {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 2}, []string{"x"}, DoubtfulTable},
	} {
		got, err := c.was.Compare(c.now, func() (map[string]bool, error) {
			left := map[string]bool{}
			for _, name := range c.left {
				left[name] = true
			}
			return left, nil
		})
		if err != nil || got != c.want {
			t.Errorf("%s: %d %v, want %d", name, got, err, c.want)
		}
	}
	if _, err := (TableRecord{State: 1}).Compare(TableRecord{State: 2}, func() (map[string]bool, error) { return nil, fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("an error is taken for an answer: %v", err)
	}
}

// TestGivenValueIsGone checks that a timestamp or a number of salts that the first attempt was given, and a later one is not, differs: unless the split
// points show the same number. The job would resume with the old value.
func TestGivenValueIsGone(t *testing.T) {
	splits, err := partition.ParsePlan("salt:8")
	testcheck.Must(t, err)
	others, err := partition.ParsePlan("hex:16")
	testcheck.Must(t, err)
	asked := spec.Spec{Table: "t", Key: "salt(id) + id", Inputs: []string{"/in"}}
	for name, c := range map[string]struct {
		key            string
		modulus, asked int
		splits         [][]byte
		given          bool
		want           string
	}{
		"nothing was given":           {"salt(id) + id", 8, 0, splits, false, ""},
		"the same is given":           {"salt(id) + id", 16, 16, splits, false, ""},
		"salts are gone":              {"salt(id) + id", 16, 0, splits, false, "the modulus was 16, it is not given, and the split points show 8"},
		"salts are gone, none shown":  {"salt(id) + id", 16, 0, others, false, "the modulus was 16, it is not given, and the split points show none"},
		"salts are gone, the same":    {"salt(id) + id", 8, 0, splits, false, ""},
		"a key that needs no modulus": {"id", 10, 0, splits, false, ""},
		"the timestamp is gone":       {"salt(id) + id", 8, 0, splits, true, "the timestamp was 1700000000000, it is not given"},
	} {
		asked.Key, asked.Regions = c.key, c.asked
		js := jobtest.Resolve(t, asked)
		plan := Asked(js, []string{"csv"})
		plan.Family, plan.Columns, plan.Modulus, plan.Splits, plan.Timestamp, plan.Given = jobtest.Family, []string{"id"}, c.modulus, rowkey.Keys(c.splits), 1700000000000, c.given
		plan.Inputs = []InputRecord{{Input: "/in/a.csv", Place: "/in/a.csv", Format: "csv"}}
		now := plan.Asked(js)
		now.Inputs = plan.Inputs
		if err := plan.Same(now); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), ": "+c.want+" (") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
