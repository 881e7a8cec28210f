package checkpoint

import (
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
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
	plan := history.Asked(jobtest.Resolve(t, spec), []string{"csv.gz", "dump"})
	plan.Family, plan.Columns, plan.Modulus = jobtest.Family, []string{"id", "v"}, 10
	plan.Inputs = []history.InputRecord{{Input: "/in/a.csv.gz", Place: "/in/a.csv.gz", Format: "csv.gz"}, {Input: "/in/b", Place: "/in/b", Format: "dump"}}
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

// TestJournalOfAnEarlierVersion checks that fields missing in its journal are not compared.
func TestJournalOfAnEarlierVersion(t *testing.T) {
	spec := spec.Spec{Table: "t", Key: "id", Inputs: []string{"x"}, Header: "no"}
	was := history.PlanRecord{Key: "id", Empty: "skip", Duplicates: "fail", Inputs: []history.InputRecord{{Input: "x"}}}
	now := history.Asked(jobtest.Resolve(t, spec), []string{"csv"})
	now.Inputs = []history.InputRecord{{Input: "x", Place: "/there/x", Format: "csv"}}
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
	if id.On("a").Name() == id.On("b").Name() || !strings.HasPrefix(id.On("a").Name(), id.prefix()) || !status.IsJobDir(id.On("a").Name()) {
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
