package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition/extsort"
)

// TableSpec is a further table of a job file: it has the same records under another key, with its own cells. Family settings that it does not give are
// those of the table in HBase.
type TableSpec struct {
	Table   string   `yaml:"table" json:"table"`                         // namespace:name, or name in the default namespace
	Index   string   `yaml:"index" json:"index,omitempty"`               // makes the table an index, of this name, of the job's first table
	Family  string   `yaml:"family" json:"family,omitempty"`             // default: the job's
	Key     string   `yaml:"key" json:"key"`                             // key spec, see package keygen
	Query   []string `yaml:"query" json:"query,omitempty"`               // default: the first column of the key
	Regions int      `yaml:"salt_buckets" json:"salt_buckets,omitempty"` // modulus of a salt; default: as for the job's table

	Filter  string   `yaml:"filter" json:"filter,omitempty"`   // condition on the records that pass the job's filter
	Columns []string `yaml:"columns" json:"columns,omitempty"` // each becomes a text cell; default: the cells of Mapping, or without these all columns
	Covers  []string `yaml:"covers" json:"covers,omitempty"`   // of an index; each becomes a text cell of its entries
	Mapping `yaml:",inline"`

	Empty      string `yaml:"empty" json:"empty,omitempty"`           // default: the job's
	Duplicates string `yaml:"duplicates" json:"duplicates,omitempty"` // default: the job's

	Compression      string `yaml:"compression" json:"compression,omitempty"`
	CompressionLevel string `yaml:"compression_level" json:"compression_level,omitempty"`
	Encoding         string `yaml:"encoding" json:"encoding,omitempty"`
	Bloom            string `yaml:"bloom" json:"bloom,omitempty"`
	BlockSize        Size   `yaml:"block_size" json:"block_size,omitempty"`
}

// RowCell is the qualifier of an index's cell that holds the row key of the data.
const RowCell = "_row"

// A Target is one of the tables that a job fills, in the form of a job that fills only this table.
type Target struct {
	Job
	Index string // name of the index that the table is; empty: it is not an index
	Dir   string // directory of its files below the job's; empty: the job has no other table
}

// Several reports whether the job fills more than one table.
func (j Job) Several() bool { return len(j.further) > 0 }

// Targets returns the tables that the job fills, in loading order: its own, then the tables of its list, indexes last.
func (j Job) Targets() []Target {
	own := j
	own.asked.Tables, own.further = nil, nil
	list := []Target{{Job: own}}
	if j.Several() {
		list[0].Dir = tableDir(j.Table)
	}
	for _, t := range j.further {
		// Phases may have completed these fields in j, and they are the same for all tables.
		t.Inputs, t.InputsFrom, t.Timestamp, t.Format, t.asked.Columns = j.Inputs, j.InputsFrom, j.Timestamp, j.Format, j.asked.Columns
		t.Partitions, t.Where, t.BadRecords = j.Partitions, j.Where, j.BadRecords
		list = append(list, t)
	}
	return list
}

// Index returns the target that is the index with a name. The error lists the existing indexes.
func (j Job) Index(name string) (Target, error) {
	var names []string
	for _, t := range j.further {
		if t.Index == name {
			return j.Targets()[1+slices.IndexFunc(j.further, func(o Target) bool { return o.Index == name })], nil
		}
		if t.Index != "" {
			names = append(names, t.Index)
		}
	}
	if len(names) == 0 {
		return Target{}, fail.Errorf(fail.Config, "no index is called %q: the job file has none under tables", name)
	}
	return Target{}, fail.Errorf(fail.Config, "no index is called %q: the job file has %s", name, strings.Join(names, ", "))
}

// Divisible refuses a job that several processes cannot build; c is the way in which they would share the work. A record that is left out of the job's
// table as a duplicate must not have an entry in an index, but a process that resolves only a part of the duplicates does not know all of these records.
// Names that begin with _ are reserved for notes in an output directory.
func (j Job) Divisible(c abilities.Column) error {
	for _, t := range j.Targets() {
		if strings.HasPrefix(t.Dir, "_") {
			return &FieldError{"tables", fail.Errorf(fail.Config, "several processes cannot use the name %s as the directory of one of several tables: give the table a job file of its own", t.Dir)}
		}
	}
	if c == abilities.YARN && j.Salted() {
		return &FieldError{"salt_file", fail.With(fail.Config, abilities.Refusal(abilities.Run, abilities.Filter))}
	}
	if check := expectation.OfKind(j.checks, expectation.Unique); check != nil {
		return &FieldError{"expect", fail.Errorf(fail.Config, "column %s, unique: %s do not know each other's values: leave it out, or let one process do the job", check.Column, c)}
	}
	if j.policy == extsort.Fail || !slices.ContainsFunc(j.further, func(t Target) bool { return t.Index != "" }) {
		return nil
	}
	return &FieldError{"duplicates", fail.With(fail.Config, abilities.Refusal(abilities.Tables, c))}
}

// resolveTables returns the further targets of an otherwise valid job.
func (s Spec) resolveTables() (further []Target, errs []error) {
	if len(s.Tables) == 0 {
		return nil, nil
	}
	bad := func(i int, err error) {
		errs = append(errs, &FieldError{"tables", fmt.Errorf("%s: %w", s.Tables[i].label(i), err)})
	}
	if err := checkTable(s.Table); err != nil {
		return nil, []error{&FieldError{"table", fmt.Errorf("%w (a job of several tables names each)", err)}}
	}
	dirs, indexes := nameSet{tableDir(s.Table): true}, nameSet{}
	var last []Target
	for i, t := range s.Tables {
		for _, err := range t.validate() {
			bad(i, err)
		}
		if err := checkTable(t.Table); err != nil {
			bad(i, err)
		} else if !dirs.add(tableDir(t.Table)) {
			bad(i, errors.New("another table of the job has this name, or one that differs in its colon only"))
		}
		if t.Index != "" && slices.ContainsFunc(s.Cells, func(c CellSpec) bool { return c.QualifierFrom != "" }) {
			bad(i, errors.New("rows of the job's table are made of several records (qualifier_from), but an index has an entry for each record: such a table cannot have an index"))
		}
		if t.Index != "" && !indexes.add(t.Index) {
			bad(i, errors.New("another index of the job has this name"))
		}
		if _, err := (Spec{Filter: t.Filter}).parseFilter(); err != nil {
			bad(i, fmt.Errorf("filter: %w", err))
			continue
		}
		j, err := s.onlyTable(t).Resolve()
		if err != nil {
			bad(i, err)
			continue
		}
		target := Target{Job: j, Index: t.Index, Dir: tableDir(t.Table)}
		if t.Index != "" {
			last = append(last, target)
		} else {
			further = append(further, target)
		}
	}
	return append(further, last...), errs
}

// onlyTable returns the job that fills only the given table.
func (s Spec) onlyTable(t TableSpec) Spec {
	j := s
	j.Tables, j.Table, j.Key, j.Query, j.Regions, j.Mapping, j.Expectations = nil, t.Table, t.Key, t.Query, t.Regions, t.Mapping, nil
	j.Compression, j.CompressionLevel, j.Encoding, j.Bloom, j.BlockSize = t.Compression, t.CompressionLevel, t.Encoding, t.Bloom, t.BlockSize
	for _, f := range []struct{ own, job *string }{{&t.Family, &j.Family}, {&t.Empty, &j.Empty}, {&t.Duplicates, &j.Duplicates}} {
		if *f.own != "" {
			*f.job = *f.own
		}
	}
	if j.Duplicates != "versions" {
		j.Versions = 0 // of the job's table
	}
	switch {
	case t.Filter == "":
	case s.Filter == "":
		j.Filter = t.Filter
	default:
		j.Filter = "(" + s.Filter + ") and (" + t.Filter + ")"
	}
	columns := slices.Concat(t.Columns, t.Covers)
	if len(columns) > 0 {
		j.Cells = []CellSpec{{Columns: columns}}
	}
	if t.Index != "" {
		j.Cells = append(j.Cells, CellSpec{RowKey: true, Qualifier: RowCell})
		// An entry of an index expires together with its row.
		j.CellTimestamp, j.CellTTL = s.CellTimestamp, s.CellTTL
	}
	return j
}

func (t TableSpec) label(i int) string {
	switch {
	case t.Index != "":
		return fmt.Sprintf("table %d (index %s)", i+1, t.Index)
	case t.Table != "":
		return fmt.Sprintf("table %d (%s)", i+1, t.Table)
	}
	return fmt.Sprintf("table %d", i+1)
}

// validate returns the errors in a table's own fields.
func (t TableSpec) validate() (errs []error) {
	if t.Index == "" && len(t.Covers) > 0 {
		errs = append(errs, errors.New("covers is only for an index: name it with index, or use columns"))
	}
	if t.Index != "" && (len(t.Columns) > 0 || t.Given()) {
		errs = append(errs, errors.New("an index has only its key and covers: row key, timestamp and TTL are those of the data"))
	}
	if t.Index != "" && t.Filter != "" {
		errs = append(errs, errors.New("an index has an entry of each row of the job's table: a filter is of other tables, or of the job"))
	}
	if t.Family != "" {
		if err := loader.CheckFamily(t.Family); err != nil {
			errs = append(errs, err)
		}
	}
	if len(t.Columns) > 0 && t.Given() {
		errs = append(errs, errors.New("there are both columns and a mapping: list the cells in cells only"))
	}
	return errs
}

// checkTable checks the name of one of several tables.
func checkTable(name string) error {
	if name == "" {
		return errors.New("it has no table")
	}
	_, err := loader.ParseTableName(name)
	return err
}

// tableDir returns the directory of a table's files below the job's.
func tableDir(table string) string {
	return strings.ReplaceAll(strings.TrimPrefix(table, "default:"), ":", "_")
}
