package checkpoint

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
)

// specField describes where a field of [Spec] is recorded, so that a later run
// cannot resume the job, or take it for done, with another value of the field.
type specField struct {
	where  string           // identity, plan, or free
	change func(*spec.Spec) // changes the meaning of the field
	says   string           // of a plan: part of the refusal
	reason string           // of a free field: why it does not affect rows
}

// fieldsOfASpec has every field of [Spec]: a new one usually belongs to the plan.
func fieldsOfASpec() map[string]specField {
	return map[string]specField{
		"Table":      {"identity", func(s *spec.Spec) { s.Table = "other" }, "", ""},
		"Family":     {"identity", func(s *spec.Spec) { s.Family = "g" }, "", ""},
		"Inputs":     {"identity", func(s *spec.Spec) { s.Inputs = []string{"/other"} }, "", ""},
		"InputsFrom": {"free", func(s *spec.Spec) { s.Inputs, s.InputsFrom = []string{"/in"}, "" }, "", "the inputs that it lists are the job's"},
		"Key":        {"identity", func(s *spec.Spec) { s.Key = "id" }, "", ""},
		"Format":     {"free", func(s *spec.Spec) { s.Format = "csv" }, "", "what was found of each file is in the plan"},
		"Columns":    {"plan", func(s *spec.Spec) { s.Columns = []string{"x"} }, "the list of columns was [id v], it is [x]", ""},
		"Header":     {"plan", func(s *spec.Spec) { s.Header = "no" }, "header was yes, it is no", ""},
		"FieldSep":   {"plan", func(s *spec.Spec) { s.FieldSep = ";" }, "field_sep was , and 0x01, it is ;", ""},
		"RecordSep":  {"plan", func(s *spec.Spec) { s.RecordSep = `\n` }, "record_sep was 0x10, it is 0x0a", ""},
		"Dialect":    {"plan", func(s *spec.Spec) { s.Dialect = "mysql" }, `dialect was not given, it is field_sep=\t record_sep=\n`, ""},
		"Quote":      {"plan", func(s *spec.Spec) { s.Quote = "'" }, "quote='", ""},
		"Quotes":     {"plan", func(s *spec.Spec) { s.Quotes = "lenient" }, "lenient=yes", ""},
		"Escape":     {"plan", func(s *spec.Spec) { s.Escape = "^" }, "escape=^", ""},
		"EscapeMap":  {"plan", func(s *spec.Spec) { s.Escape, s.EscapeMap = "^", "jq" }, "escape_map=jq", ""},
		"NullValue":  {"plan", func(s *spec.Spec) { s.NullValue = spec.Texts{"-"} }, "null='-'", ""},
		"NullQuoted": {"plan", func(s *spec.Spec) { s.NullQuoted = "yes" }, "null_quoted=yes", ""},
		"SkipLines":  {"plan", func(s *spec.Spec) { s.SkipLines = 1 }, "skip_lines=1", ""},
		"SkipEnd":    {"plan", func(s *spec.Spec) { s.SkipEnd = 1 }, "skip_end=1", ""},
		"Comment":    {"plan", func(s *spec.Spec) { s.Comment = "#" }, "comment=#", ""},
		"Trim":       {"plan", func(s *spec.Spec) { s.Trim = "both" }, "trim=both", ""},
		"Versions": {"plan", func(s *spec.Spec) {
			s.Duplicates, s.Versions, s.CellTimestamp = "versions", 3, &spec.TimeColumn{Column: "id"}
		}, "duplicates was fail, it is versions", ""},
		"LastColumn":   {"plan", func(s *spec.Spec) { s.LastColumn = "separated" }, "last_column=separated", ""},
		"Positions":    {"plan", func(s *spec.Spec) { s.Positions = spec.Texts{"id=1-9"} }, "position=id=1-9", ""},
		"RecordLength": {"plan", func(s *spec.Spec) { s.Positions, s.RecordLength = spec.Texts{"id=1-9"}, 80 }, "record_length=80", ""},
		"Charset":      {"plan", func(s *spec.Spec) { s.Charset = "gbk" }, "charset=gbk", ""},
		"Extra":        {"plan", func(s *spec.Spec) { s.Extra = "ignore" }, "columns was not given, it is extra ignore, missing fail", ""},
		"Missing":      {"plan", func(s *spec.Spec) { s.Missing = "null" }, "columns was not given, it is extra by format, missing null", ""},
		"Partitions":   {"plan", func(s *spec.Spec) { s.Partitions = spec.Texts{"dt"} }, "partitions was not given, it is dt", ""},
		"Where":        {"plan", func(s *spec.Spec) { s.Where = spec.Texts{"dt=1"} }, "where was not given, it is dt=1", ""},
		"Parse":        {"plan", func(s *spec.Spec) { s.Parse = "md5hex(id)+id" }, "parse was not given, it is md5hex(id) + id", ""},
		"Expect":       {"free", func(s *spec.Spec) { n := int64(1); s.Expect = &n }, "", "it counts records, and changes none"},
		"Expectations": {"free", func(s *spec.Spec) { s.Expectations = []expectation.Asked{{Column: "v", Nulls: "1%"}} }, "",
			"it changes no rows; what was counted for it is known by what it counts, and other counts are not taken"},
		"AllowEmpty":     {"free", func(s *spec.Spec) { s.AllowEmpty = true }, "", "an input without rows is done or refused, and has no rows"},
		"Query":          {"free", func(s *spec.Spec) { s.Query = []string{"id"} }, "", "it is for readers"},
		"Filter":         {"plan", func(s *spec.Spec) { s.Filter = "id <> ''" }, "filter was not given, it is id != ''", ""},
		"SaltFile":       {"free", func(s *spec.Spec) { s.SaltFile = "/salt" }, "", "the digest of the secret is in the plan, where salted(x) is"},
		"Regions":        {"plan", func(s *spec.Spec) { s.Regions = 7 }, "the modulus was 10, it is 7", ""},
		"Empty":          {"plan", func(s *spec.Spec) { s.Empty = "store" }, "empty was skip, it is store", ""},
		"Duplicates":     {"plan", func(s *spec.Spec) { s.Duplicates = "first" }, "duplicates was fail, it is first", ""},
		"BadRecords":     {"plan", func(s *spec.Spec) { s.BadRecords = "5" }, "bad_records was 0, it is 5", ""},
		"Choice":         {"plan", func(s *spec.Spec) { s.Choice.StopRow = "m" }, "choice was not given, it is stop_row m", ""},
		"ReadBy":         {"free", func(s *spec.Spec) { s.ReadBy = "scan" }, "", "the journal says how a table is read, and another way is refused there"},
		"Verify":         {"free", func(s *spec.Spec) { s.Verify = "full" }, "", "it only reads"},
		"Timestamp":      {"plan", func(s *spec.Spec) { s.Timestamp = 5 }, "the timestamp was 1700000000000, it is 5", ""},
		"PhoenixIndexes": {"free", func(s *spec.Spec) { s.PhoenixIndexes = "ignore" }, "", "it says whether the job may run, not what it writes"},
		"Replicate":      {"free", func(s *spec.Spec) { s.Replicate = "no" }, "", "it says who gets the files, not what is in them"},
		"Replace":        {"free", func(s *spec.Spec) { s.Replace = true }, "", "the journal says whether markers were loaded, and a job that is done without them is not done with them"},
		"MaxDeletes":     {"free", func(s *spec.Spec) { s.MaxDeletes = "1" }, "", "it says whether the job may load, not what"},
		"Cells":          {"plan", func(s *spec.Spec) { s.Cells = []spec.CellSpec{{Column: "v"}} }, "the mapping was", ""},
		"Skip":           {"plan", func(s *spec.Spec) { s.Skip = []string{"v"} }, "the mapping was", ""},
		"Compression":    {"plan", func(s *spec.Spec) { s.Compression = "NONE" }, "the family was", ""},
		"Encoding":       {"plan", func(s *spec.Spec) { s.Encoding = "NONE" }, "the family was", ""},
		"Bloom":          {"plan", func(s *spec.Spec) { s.Bloom = "NONE" }, "the family was", ""},
		"BlockSize":      {"plan", func(s *spec.Spec) { s.BlockSize = 4096 }, "the family was", ""},

		"CompressionLevel": {"plan", func(s *spec.Spec) { s.CompressionLevel = "better" }, "the family was", ""},

		"ReplaceRejected": {"free", func(s *spec.Spec) { s.ReplaceRejected = true }, "", "it says whether the job may load, not what"},

		"Tables": {"identity", func(s *spec.Spec) { s.Tables = []spec.TableSpec{{Table: "x", Key: "v"}} }, "", ""},

		"Options": {"free", func(s *spec.Spec) { s.Options = spec.Options{{}} }, "", "settings of the program: how it works, not what it reads"},

		"CellTimestamp": {"plan", func(s *spec.Spec) { s.CellTimestamp = &spec.TimeColumn{Column: "v"} }, "the mapping was", ""},
		"CellTTL":       {"plan", func(s *spec.Spec) { s.CellTTL = &spec.TTLColumn{Column: "v"} }, "the mapping was", ""},
	}
}

// TestEveryFieldOfASpecIsAccountedFor checks that each field is part of the job's
// identity or of its plan, or cannot affect rows.
func TestEveryFieldOfASpecIsAccountedFor(t *testing.T) {
	known := fieldsOfASpec()
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[spec.Spec]()) {
		if f.Anonymous {
			continue
		}
		seen[f.Name] = true
		if _, ok := known[f.Name]; !ok {
			t.Errorf("the field %s is in no plan: see readingRecord and planRecord.same, or say here why it changes no rows", f.Name)
		}
	}
	spec := spec.Spec{Table: "t", Key: "id + v", Inputs: []string{"/in"}, Timestamp: 1700000000000}
	plan := Asked(jobtest.Resolve(t, spec), []string{"csv.gz", "dump"})
	plan.Family, plan.Columns, plan.Modulus = jobtest.Family, []string{"id", "v"}, 10
	plan.Inputs = []InputRecord{{Input: "/in/a.csv.gz", Place: "/in/a.csv.gz", Format: "csv.gz"}, {Input: "/in/b", Place: "/in/b", Format: "dump"}}
	env := jobtest.Env(t)
	id, err := Identify(env, jobtest.Resolve(t, spec), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range known {
		if !seen[name] {
			t.Errorf("a spec has no field %s", name)
		}
		changed := spec
		f.change(&changed)
		now := plan.Asked(jobtest.Resolve(t, changed))
		now.Inputs = plan.Inputs
		err := plan.Same(now)
		other, idErr := Identify(env, jobtest.Resolve(t, changed), "")
		if idErr != nil {
			t.Fatal(idErr)
		}
		switch f.where {
		case "identity":
			if other.rest == id.rest {
				t.Errorf("%s: it is the same job", name)
			}
		case "plan":
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), f.says) || !strings.Contains(err.Error(), "`restart`") {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if err != nil || other.rest != id.rest || f.reason == "" {
				t.Errorf("%s (%s): %v, identity %v", name, f.reason, err, other.rest == id.rest)
			}
		}
	}
	now := plan.Asked(jobtest.Resolve(t, spec))
	now.Inputs = plan.Inputs
	if err := plan.Same(now); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}
}

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

// TestJournalOfAnEarlierVersion checks that fields missing in its journal are not compared.
func TestJournalOfAnEarlierVersion(t *testing.T) {
	spec := spec.Spec{Table: "t", Key: "id", Inputs: []string{"x"}, Header: "no"}
	was := PlanRecord{Key: "id", Empty: "skip", Duplicates: "fail", Inputs: []InputRecord{{Input: "x"}}}
	now := Asked(jobtest.Resolve(t, spec), []string{"csv"})
	now.Inputs = []InputRecord{{Input: "x", Place: "/there/x", Format: "csv"}}
	if err := was.Same(now); err != nil {
		t.Error(err)
	}
	now.Inputs[0].Input = "y"
	if err := was.Same(now); fail.KindOf(err) != fail.Input {
		t.Errorf("another input: %v", err)
	}
}

// hdfsEnv returns an environment with a nameservice and a default file system.
func hdfsEnv(t *testing.T) *cluster.Env {
	env := jobtest.Env(t)
	for key, value := range map[string]string{
		"fs.defaultFS": "hdfs://NN.example", "dfs.nameservices": "ns", "dfs.ha.namenodes.ns": "a,b",
		"dfs.namenode.rpc-address.ns.a": "one:8020", "dfs.namenode.rpc-address.ns.b": "two:8020",
	} {
		env.Conf.Set(key, value, "test")
	}
	return env
}

// TestIdentityIsOfPlaces checks that spellings of the same place give one identity, and different places different ones.
func TestIdentityIsOfPlaces(t *testing.T) {
	env := hdfsEnv(t)
	dir := t.TempDir()
	t.Chdir(dir)
	base := spec.Spec{Table: "t", Key: "salt(a, 10) + b", Inputs: []string{"x"}}
	same := func(a, b spec.Spec) bool {
		t.Helper()
		i, err := Identify(env, jobtest.Resolve(t, a), "w")
		if err != nil {
			t.Fatal(err)
		}
		k, err := Identify(env, jobtest.Resolve(t, b), "w")
		if err != nil {
			t.Fatal(err)
		}
		return i.On("c").Name() == k.On("c").Name()
	}
	input := func(names ...string) spec.Spec { s := base; s.Inputs = names; return s }
	for _, group := range [][]string{
		{"x", "./x", "x/", dir + "/x", dir + "//x/", "file://" + dir + "/x", "y/../x"},
		{"x/*.csv", "./x/*.csv", dir + "/x/*.csv"},
		{"hdfs:///x", "hdfs:///x/", "hdfs:/x", "hdfs://nn.example/x", "hdfs://NN.example:8020/x", "hdfs://NN.example/./y/../x"},
		{"hdfs://ns/x", "hdfs://ns/x/", "hdfs://ns//x"},
		{"hdfs://NN.example:9000/x"},
		{"X"},
	} {
		for _, other := range group {
			if !same(input(group[0]), input(other)) {
				t.Errorf("%s and %s are two jobs", group[0], other)
			}
		}
		if group[0] != "x" && same(base, input(group[0])) {
			t.Errorf("x and %s are one job", group[0])
		}
	}
	if same(input("x", "y"), input("y", "x")) {
		t.Error("the order of inputs, which decides between duplicates, does not count")
	}
	for _, change := range []func(*spec.Spec){
		func(s *spec.Spec) { s.Table = "default:t" }, func(s *spec.Spec) { s.Family = "f" }, func(s *spec.Spec) { s.Key = " salt( a,10 )+b" },
	} {
		s := base
		if change(&s); !same(base, s) {
			t.Errorf("%+v is another job", s)
		}
	}
	id, err := Identify(env, jobtest.Resolve(t, base), "w")
	if err != nil {
		t.Fatal(err)
	}
	if id.On("a").Name() == id.On("b").Name() || !strings.HasPrefix(id.On("a").Name(), id.prefix()) || !stateName.MatchString(id.On("a").Name()) {
		t.Errorf("on two clusters: %s and %s", id.On("a").Name(), id.On("b").Name())
	}
	if TableOf(id.On("a").Name()) != "t" || TableOf(id.OldName()) != "t" || TableOf("report.html") != "" {
		t.Error("the table is not seen in a name")
	}
}

// TestNamesOfPathsAreSafe checks the form of a table's name in a path.
func TestNamesOfPathsAreSafe(t *testing.T) {
	for name, want := range map[string]string{"ns:t-1.a": "ns_t-1.a", "default:t": "t", "表:数": "___", "a..b": "a..b"} {
		id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Table: name}), "")
		if err != nil || id.Table != want {
			t.Errorf("%s: %q, %v", name, id.Table, err)
		}
	}
	id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Table: strings.Repeat("n", 200) + ":" + strings.Repeat("t", 200)}), "")
	if err != nil || len(build.SpillPrefix(id.On("c").Name())) > 220 {
		t.Errorf("%d characters, %v", len(id.On("c").Name()), err)
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
		"untouched":                      {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 1, Dir: 7, Regions: regions}, nil, sameTable},
		"all split":                      {TableRecord{State: 1, Regions: regions}, TableRecord{State: 1}, nil, sameTable},
		"root directory copied":          {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 1, Dir: 8}, nil, sameTable},
		"out of service":                 {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 2, Dir: 7}, nil, sameTable},
		"made again":                     {TableRecord{State: 1, Dir: 7, Regions: regions}, TableRecord{State: 2, Dir: 8}, []string{"a"}, OtherTable},
		"out of service, not readable":   {TableRecord{State: 1, Regions: regions}, TableRecord{State: 2, Dir: 8}, []string{"x", "b"}, sameTable},
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
