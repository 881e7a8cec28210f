package export

import (
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

// askedFields are the fields of a job that change the files of an export to CSV, each with a change.
var askedFields = map[string]func(*spec.Spec){
	"family":         func(s *spec.Spec) { s.Family = "g" },
	"columns":        func(s *spec.Spec) { s.Columns = []string{"b", "a"} },
	"header":         func(s *spec.Spec) { s.Header = "no" },
	"field_sep":      func(s *spec.Spec) { s.FieldSep = ";" },
	"record_sep":     func(s *spec.Spec) { s.RecordSep = "|" },
	"dialect":        func(s *spec.Spec) { s.Dialect = "mysql" },
	"quote":          func(s *spec.Spec) { s.Quote = "'" },
	"escape":         func(s *spec.Spec) { s.Escape = "!" },
	"escape_map":     func(s *spec.Spec) { s.Escape, s.EscapeMap = "!", "mysql" },
	"null_value":     func(s *spec.Spec) { s.NullValue = spec.Texts{"NULL"} },
	"null_quoted":    func(s *spec.Spec) { s.NullValue, s.NullQuoted = spec.Texts{"NULL"}, "yes" },
	"comment":        func(s *spec.Spec) { s.Comment = "#" },
	"trim":           func(s *spec.Spec) { s.Trim = "both" },
	"last_column":    func(s *spec.Spec) { s.LastColumn = "separated" },
	"key":            func(s *spec.Spec) { s.Key = "salt(b) + a" },
	"salt_buckets":   func(s *spec.Spec) { s.Regions = 7 },
	"empty":          func(s *spec.Spec) { s.Empty = "skip" },
	"cells":          func(s *spec.Spec) { s.Cells = []spec.CellSpec{{Columns: []string{"a", "b"}, Family: "g"}} },
	"skip":           func(s *spec.Spec) { s.Skip = []string{"c"} },
	"cell_timestamp": func(s *spec.Spec) { s.CellTimestamp = &spec.TimeColumn{Column: "a"} },
	"cell_ttl":       func(s *spec.Spec) { s.CellTTL = &spec.TTLColumn{Column: "a"} },
}

// notAskedFields are the other fields, with the reason why they do not change files.
var notAskedFields = map[string]string{
	"format":  "names of JSON members and the dialect are compared; TestAskedJSON",
	"quotes":  "lenient quotes are refused",
	"charset": "others than UTF-8 are refused", "skip_lines": "is refused", "skip_end": "is refused",
	"positions": "the dialect of fixed columns is not written; names are in columns", "record_length": "is not written",
	"extra": "of reading", "missing": "of reading", "partitions": "of inputs", "where": "of inputs",
	"table": "is named by the command", "inputs": "are not read", "inputs_from": "is not read",
	"read_by": "is an option of the export", "parse": "of input tables", "query": "of readers",
	"from_key": "the command has its own choice", "to_key": "as from_key", "key_prefix": "as from_key", "start_row": "as from_key", "stop_row": "as from_key", "row_prefix": "as from_key",
	"since": "as from_key", "until": "as from_key", "only": "as from_key", "input_versions": "as from_key",
	"filter": "of records that are loaded", "salt_file": "keys have no salted(x), and cells by it are not written back",
	"duplicates": "decides only whether versions can be exported", "versions": "of loads", "bad_records": "of loads", "allow_empty": "of loads",
	"expect_records": "of loads", "expect": "of loads", "verify": "of loads", "timestamp": "of loads", "phoenix_indexes": "of loads", "replicate": "of loads",
	"replace": "of loads", "max_deletes": "of loads", "replace_rejected": "of loads", "compression": "of HFiles", "compression_level": "of HFiles", "encoding": "of HFiles",
	"bloom": "of HFiles", "block_size": "of HFiles", "tables": "only the first table is exported", "options": "of programs",
}

// compiled returns an export of a job.
func compiled(t *testing.T, f Format, s spec.Spec) *Plan {
	t.Helper()
	j, err := s.ResolveTable()
	testcheck.Must(t, err)
	p, err := Compile(Options{Format: f, Job: &j, Choice: choice.Asked{}})
	testcheck.Must(t, err)
	return p
}

func askedSpec() spec.Spec {
	return spec.Spec{Table: "n:t", Columns: []string{"a", "b"}, Key: "a", Reading: spec.Reading{Dialect: "postgres-csv"}}
}

// TestAsked checks that an export does not resume after a change of any field of its job that changes files. Each field is known to change them or not.
func TestAsked(t *testing.T) {
	var names func(reflect.Type) []string
	names = func(typ reflect.Type) (all []string) {
		for f := range typ.Fields() {
			name, inline := strings.CutSuffix(f.Tag.Get("yaml"), ",inline")
			if inline {
				all = append(all, names(f.Type)...)
			} else {
				all = append(all, name)
			}
		}
		return all
	}
	all := names(reflect.TypeFor[spec.Spec]())
	for _, name := range all {
		if (askedFields[name] == nil) == (notAskedFields[name] == "") {
			t.Errorf("%s: say whether it changes the files of an export, in one of the lists", name)
		}
	}
	if n := len(askedFields) + len(notAskedFields); n != len(all) {
		t.Errorf("the lists have %d fields, a job %d", n, len(all))
	}
	want := compiled(t, CSV, askedSpec()).asked()
	for name, change := range askedFields {
		s := askedSpec()
		change(&s)
		if compiled(t, CSV, s).asked() == want {
			t.Errorf("%s does not change what is asked for", name)
		}
	}
}

// TestAskedJSON checks that the names of a job's JSON members, which are paths, differ from those of other columns.
func TestAskedJSON(t *testing.T) {
	plain, paths := askedSpec(), spec.Spec{Table: "n:t", Format: "json", Columns: []string{"a", "b"}, Key: "a"}
	if compiled(t, JSONL, plain).asked() == compiled(t, JSONL, paths).asked() {
		t.Error("a job of JSON is taken for one of CSV")
	}
}
