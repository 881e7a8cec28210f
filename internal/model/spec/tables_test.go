package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/base/abilities"
)

const tablesFile = `
table: ns:check
key: salt(check_id, 10) + md5hex(check_id) + id
duplicates: last
empty: store
compression: GZ
cell_ttl: {column: life}
tables:
  - index: by_date
    table: check_by_date
    key: create_date + "|" + id
    covers: [hit_ind, rule_type]
  - table: check_by_rule
    key: rule_no + "|" + id
    columns: [rule_no, remarks]
    family: g
    encoding: DIFF
    duplicates: first
  - table: check_all
    key: id
    cells:
      - {column: amount, type: long}
      - {rest: true}
`

// TestTablesOfAJobFile checks resolved further tables: their own settings, those of the job, and the order of loading.
func TestTablesOfAJobFile(t *testing.T) {
	s, err := ParseSpec("x.yaml", []byte(tablesFile))
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	j.Inputs, j.Timestamp = []string{"later"}, 9
	var got []string
	for _, x := range j.Targets() {
		got = append(got, fmt.Sprintf("%s %s in %s: %s, %s, %s, %q, %q, %s, %v, %d, %d", x.Table, x.Index, x.Dir, x.Key(), x.FamilyName(), x.Duplicates(),
			x.Compression, x.Encoding, x.Empty, x.Inputs, x.Timestamp, len(x.Spec().Tables)))
	}
	want := []string{
		`ns:check  in ns_check: salt(check_id, 10) + md5hex(check_id) + id, f, last, "GZ", "", store, [later], 9, 0`,
		`check_by_rule  in check_by_rule: rule_no + "|" + id, g, first, "", "DIFF", store, [later], 9, 0`,
		`check_all  in check_all: id, f, last, "", "", store, [later], 9, 0`,
		`check_by_date by_date in check_by_date: create_date + "|" + id, f, last, "", "", store, [later], 9, 0`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the targets are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	targets := j.Targets()
	if ttl := targets[3].CellTTL; ttl == nil || ttl.Column != "life" || targets[1].CellTTL != nil {
		t.Errorf("entries of an index live as their rows: %+v; another table has its own: %+v", ttl, targets[1].CellTTL)
	}
	if cells := targets[3].Cells; len(cells) != 2 || !slices.Equal(cells[0].Columns, []string{"hit_ind", "rule_type"}) || !cells[1].RowKey || cells[1].Qualifier != RowCell {
		t.Errorf("cells of the index: %+v", cells)
	}
	if !j.Several() || targets[0].Several() {
		t.Error("the job has several tables, and a target one")
	}
	if x, err := j.Index("by_date"); err != nil || x.Table != "check_by_date" || !slices.Equal(x.Inputs, j.Inputs) {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := j.Index("by_day"); err == nil || !strings.Contains(err.Error(), "by_date") {
		t.Errorf("%v", err)
	}
}

// TestDivisible checks that several processes may build tables and indexes, but no index whose entries duplicates may omit, and no table in a
// directory of notes.
func TestDivisible(t *testing.T) {
	table, index, hidden := TableSpec{Table: "x", Key: "a"}, TableSpec{Index: "i", Table: "x", Key: "a"}, TableSpec{Table: "_x", Key: "a"}
	wide := TableSpec{Table: "y", Key: "b", Duplicates: "last"}
	for _, c := range []struct {
		duplicates string
		tables     []TableSpec
		want       string
	}{
		{"last", nil, ""}, {"last", []TableSpec{table}, ""}, {"", []TableSpec{index, wide}, ""}, {"fail", []TableSpec{index}, ""},
		{"first", []TableSpec{wide, index}, "duplicates: several processes build an index only with `duplicates` fail"},
		{"fail", []TableSpec{hidden}, "tables: several processes cannot use the name _x"},
	} {
		j, err := Spec{Table: "_t", Key: "id", Duplicates: c.duplicates, Tables: c.tables}.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if j.Table = "t"; len(c.tables) == 0 {
			j.Table = "_t" // alone it has no subdirectory
		}
		if err := j.Divisible(abilities.Shares); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestVersionsOfOneTable checks that a number of versions counts for the tables that keep versions, and that a further table may keep none.
func TestVersionsOfOneTable(t *testing.T) {
	s, err := ParseSpec("x.yaml", []byte("table: t\nkey: id\nduplicates: versions\nversions: 3\ncell_timestamp: {column: at}\n"+
		"tables:\n  - {table: last, key: id, duplicates: last}\n  - {table: all, key: id, cell_timestamp: {column: at}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 0, 3} {
		if x := j.Targets()[i].Spec(); x.Versions != want {
			t.Errorf("table %s, duplicates %s: %d versions, want %d", x.Table, x.Duplicates, x.Versions, want)
		}
	}
}

// TestOneTableIsAsBefore checks that a job of one table has no subdirectory, and no other target.
func TestOneTableIsAsBefore(t *testing.T) {
	j, err := Spec{Table: "a:b", Key: "id"}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if x := j.Targets(); len(x) != 1 || x[0].Dir != "" || x[0].Table != "a:b" || j.Several() {
		t.Errorf("%+v", x)
	}
}

// TestNamesThatHBaseRefuses checks that a job is refused whose table or family no table of HBase can have, as by table create.
func TestNamesThatHBaseRefuses(t *testing.T) {
	for say, s := range map[string]Spec{
		`table: table name "t t": a table has letters`:     {Table: "t t"},
		`table: table name "a:b:c": a table has letters`:   {Table: "a:b:c"},
		`table: table name "zookeeper": HBase allows no`:   {Table: "zookeeper"},
		`family: "a:b" is not a family name`:               {Table: "t", Family: "a:b"},
		`family: "a/b" is not a family name`:               {Table: "t", Family: "a/b"},
		`family: "a\\b" is not a family name`:              {Table: "t", Family: `a\b`},
		`family: ".a" is not a family name`:                {Family: ".a"},
		`family: "a\nb" is not a family name`:              {Family: "a\nb"},
		`family: "recovered.edits" is not a family name`:   {Family: "recovered.edits"},
		"it has 128 bytes, and a family has at most 127":   {Family: strings.Repeat("f", 128)},
		`cell 1 (column a): "x:y" is not a family name`:    {Mapping: Mapping{Cells: []CellSpec{{Column: "a", Family: "x:y"}}}},
		`table 1 (u): "x:y" is not a family name`:          {Table: "t", Tables: []TableSpec{{Table: "u", Key: "id", Family: "x:y"}}},
		`table 1 (u v): table name "u v": a table has let`: {Table: "t", Tables: []TableSpec{{Table: "u v", Key: "id"}}},
	} {
		s.Key = "id"
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %s", err, say)
		}
	}
	for _, s := range []Spec{{}, {Table: "ns:t.1-2_é"}, {Table: "t", Family: "ä b=c,d"}, {Family: strings.Repeat("f", 127)}} {
		s.Key = "id"
		if _, err := s.Resolve(); err != nil {
			t.Errorf("table %q, family %q: %v", s.Table, s.Family, err)
		}
	}
}

// TestTablesThatAreWrong checks the errors of invalid tables, which name the table.
func TestTablesThatAreWrong(t *testing.T) {
	for say, s := range map[string]Spec{
		"table: it has no table":                                              {Key: "id", Tables: []TableSpec{{Table: "a", Key: "id"}}},
		"table 1 (t): another table of the job has this name":                 {Table: "default:t", Key: "id", Tables: []TableSpec{{Table: "t", Key: "id"}}},
		"table 2 (n_t): another table of the job has this name":               {Table: "t", Key: "id", Tables: []TableSpec{{Table: "n:t", Key: "id"}, {Table: "n_t", Key: "id"}}},
		"table 1 (../x): table name \"../x\": a table has letters, digits":    {Table: "t", Key: "id", Tables: []TableSpec{{Table: "../x", Key: "id"}}},
		"table 1 (x): key: missing":                                           {Table: "t", Key: "id", Tables: []TableSpec{{Table: "x"}}},
		"table 1 (index i): it has no table":                                  {Table: "t", Key: "id", Tables: []TableSpec{{Index: "i", Key: "a"}}},
		"table 1 (index i): an index has only its key and covers":             {Table: "t", Key: "id", Tables: []TableSpec{{Index: "i", Table: "x", Key: "a", Columns: []string{"c"}}}},
		"table 1 (x): covers is only for an index":                            {Table: "t", Key: "id", Tables: []TableSpec{{Table: "x", Key: "a", Covers: []string{"c"}}}},
		"table 1 (x): there are both columns and a mapping":                   {Table: "t", Key: "id", Tables: []TableSpec{{Table: "x", Key: "a", Columns: []string{"c"}, Mapping: Mapping{Skip: []string{"d"}}}}},
		"table 2 (index i): another index of the job has this name":           {Table: "t", Key: "id", Tables: []TableSpec{{Index: "i", Table: "x", Key: "a"}, {Index: "i", Table: "y", Key: "b"}}},
		"table 1 (x): duplicates: duplicate policy \"none\" is invalid: want": {Table: "t", Key: "id", Tables: []TableSpec{{Table: "x", Key: "a", Duplicates: "none"}}},
		"table 1 (x): filter: expression, position 4, at the end":             {Table: "t", Key: "id", Filter: "a = '1'", Tables: []TableSpec{{Table: "x", Key: "a", Filter: "n ="}}},
		"table 1 (x): filter: it is text, not a condition":                    {Table: "t", Key: "id", Tables: []TableSpec{{Table: "x", Key: "a", Filter: "n"}}},
		"table 1 (index i): an index has an entry of each row":                {Table: "t", Key: "id", Tables: []TableSpec{{Index: "i", Table: "x", Key: "a", Filter: "n = '1'"}}},
		"table 1 (index i): rows of the job's table are made of several records": {Table: "t", Key: "id", Mapping: Mapping{Cells: []CellSpec{{Column: "v", QualifierFrom: "q"}}},
			Tables: []TableSpec{{Index: "i", Table: "x", Key: "a"}}},
	} {
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want: %s", err, say)
		}
	}
	if _, err := ParseSpec("x.yaml", []byte("table: t\nkey: id\ntables:\n  - table: x\n    row_key: true\n")); err == nil {
		t.Error("a job file can say what only an index has")
	}
}
