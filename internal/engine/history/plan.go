package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// LoadsDir reports whether the job loads a directory of HFiles that it did not build.
func (p PlanRecord) LoadsDir() bool { return p.Key == "" }

// Same returns an error that lists the changes since the plan was made.
func (p PlanRecord) Same(now PlanRecord) error {
	var input, other []string
	was := map[string]InputRecord{}
	at := func(f InputRecord) string { return f.Input }
	if !slices.ContainsFunc(p.Inputs, func(f InputRecord) bool { return f.Place == "" }) {
		at = func(f InputRecord) string { return f.Place }
	}
	for _, f := range p.Inputs {
		was[at(f)] = f
	}
	for _, f := range now.Inputs {
		old, ok := was[at(f)]
		delete(was, at(f))
		switch {
		case !ok:
			input = append(input, fmt.Sprintf("%s is new", f.Input))
		case old.Differs(f) != "":
			input = append(input, old.Differs(f))
		case old.Format != "" && f.Format != "" && old.Format != f.Format:
			other = append(other, fmt.Sprintf("the format of %s was %s, it is %s", f.Input, old.Format, f.Format))
		}
	}
	for _, f := range was {
		input = append(input, f.Input+" is gone")
	}
	slices.Sort(input)
	if p.Reading != nil && now.Reading != nil {
		if p.Reading.Choice != now.Reading.Choice {
			input = nil // sizes of table parts depend on the choice
		}
		other = append(other, p.Reading.differences(now.Reading)...)
	}
	other = append(other, p.rowDifferences(now)...)
	other = append(other, p.tableDifferences(now)...)
	hint := spec.RestartHint()
	switch {
	case len(input) > 0:
		return fail.Errorf(fail.Input, "the input has changed since this job began: %s (%s)", few(input), hint)
	case len(other) > 0:
		return fail.Errorf(fail.Check, "the job or its table has changed since this job began: %s (%s)", few(other), hint)
	}
	return nil
}

// rowDifferences returns the changes in the format of the table's rows.
func (p PlanRecord) rowDifferences(now PlanRecord) (all []string) {
	differs := func(what string, old, now any) {
		if fmt.Sprint(old) != fmt.Sprint(now) {
			all = append(all, fmt.Sprintf("%s was %v, it is %v", what, old, now))
		}
	}
	differs("the family", p.Family, now.Family)
	differs("the families", p.Families, now.Families)
	differs("the mapping", p.mappingText(), now.mappingText())
	differs("the list of columns", p.Columns, now.Columns)
	differs("the filter", cmp.Or(p.Filter, "the job's"), cmp.Or(now.Filter, "the job's"))
	differs("empty", p.Empty, now.Empty)
	differs("duplicates", p.Duplicates, now.Duplicates)
	switch {
	case now.Timestamp != 0:
		differs("the timestamp", p.Timestamp, now.Timestamp)
	case p.Given:
		differs("the timestamp", p.Timestamp, "not given")
	}
	if now.Modulus != 0 {
		differs("the modulus", p.Modulus, now.Modulus)
	} else if by, needed := p.modulusBySplits(); needed && by != p.Modulus && p.Modulus > 0 {
		differs("the modulus", p.Modulus, "not given, and the split points show "+cmp.Or(strings.TrimPrefix(strconv.Itoa(by), "0"), "none"))
	}
	return all
}

// modulusBySplits returns the modulus of the key's salt that the split points show, 0 if they show none; needed reports whether the key needs it.
func (p PlanRecord) modulusBySplits() (by int, needed bool) {
	e, err := keygen.Parse(p.Key)
	if err != nil {
		return 0, false
	}
	salt := keygen.OpenSalt(e)
	if salt == "" {
		return 0, false
	}
	return partition.ModulusOfSalt(salt, rowkey.Rows(p.Splits)), true
}

// Asked returns the settings of a spec, with its defaults, that concern the records and rows of a job that reads files of these formats.
func Asked(s spec.Job, formats []string) PlanRecord {
	p := PlanRecord{Key: s.Key(), Empty: emptyOf(s, formats), Duplicates: s.Duplicates(), Format: cmp.Or(s.Format, "auto"),
		Reading: readingOf(s, formats), Timestamp: s.Timestamp, Modulus: s.Regions}
	if s.Mapping.Given() {
		p.Mapping, p.MapFamily = &s.Mapping, s.FamilyName()
	}
	return p
}

// emptyByFile is the handling of empty texts that differs between files: cells in files that have NULL too.
const emptyByFile = "by file"

// emptyOf returns the handling of empty texts in files of these formats: skip or store, if it is the same for all and known by the formats.
func emptyOf(s spec.Job, formats []string) string {
	if s.Empty != "" {
		return s.Empty
	}
	skip, store := false, false
	for _, f := range formats {
		format, packed, _ := strings.Cut(f, ".")
		t := source.Format(format).Traits()
		nulls := t.Named
		if t.Text && t.Dialect == "" {
			if packed == "rejects" {
				return emptyByFile // a reject file has its own dialect
			}
			nulls = s.Text() != nil && len(s.Text().Null) > 0
		}
		skip, store = skip || !nulls, store || nulls
	}
	switch {
	case skip && store:
		return emptyByFile
	case store:
		return "store"
	}
	return "skip"
}

// Asked returns the plan with the current settings of a spec. Properties that only the table and the inputs define stay as they were; the inputs are
// left out.
func (p PlanRecord) Asked(s spec.Job) PlanRecord {
	now := Asked(s, p.Formats())
	now.Family, _ = s.ApplyTo(p.Family)
	if now.Mapping != nil {
		now.Families, _ = s.ApplyToAll(p.Families)
	}
	if now.Columns = s.Columns; len(now.Columns) == 0 {
		now.Columns = p.Columns
	}
	now.Tables = AskedTables(s, p.Formats())
	for i, t := range s.Targets()[1:] {
		if i == len(p.Tables) {
			break
		}
		own, was := &now.Tables[i], p.Tables[i]
		if name, err := loader.ParseTableName(own.Table); err == nil {
			own.Table = name.String()
		}
		if own.Family, _ = t.ApplyTo(was.Family); own.Mapping != nil {
			own.Families, _ = t.ApplyToAll(was.Families)
		}
	}
	return now
}

// few returns the first elements of a list as text.
func few(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], "; ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// BuildPlan rebuilds the plan of a build from the record, with the secret, which the journal does not store.
func (p PlanRecord) BuildPlan(family spec.Family, salt spec.Salt) (_ *cells.Plan, err error) {
	w := &cells.Plan{Salt: salt, Table: p.Table, Family: family, Columns: p.Columns, Timestamp: p.Timestamp, Modulus: p.Modulus}
	w.Duplicates, _ = extsort.ParsePolicy(p.Duplicates)
	if p.Empty != emptyByFile {
		w.Empty = p.Empty
	}
	if w.Ranges, err = partition.New(rowkey.Rows(p.Splits)); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if w.Key, err = keygen.Parse(p.Key); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	filter := p.Filter
	if p.Reading != nil {
		filter = p.Reading.Filter
	}
	if filter != "" {
		if w.Filter, err = keygen.ParseValue(filter); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	}
	if p.Mapping != nil {
		w.Mapping = *p.Mapping
		return w, w.MapCells(w.Mapping, p.MapFamily, p.Families)
	}
	return w, w.MapCells(spec.Mapping{}, family.Name, nil)
}

// mappingText returns a text that differs for different mappings.
func (p PlanRecord) mappingText() string {
	if p.Mapping == nil {
		return "that of all columns as text"
	}
	b, _ := json.Marshal(p.Mapping) // strings and booleans always marshal
	return string(b) + " with the family " + p.MapFamily
}

// AskedTables returns [Asked] of the further tables of a job, in order.
func AskedTables(s spec.Job, formats []string) (tables []PlanRecord) {
	for _, t := range s.Targets()[1:] {
		p := Asked(t.Job, formats)
		p.Table, p.Index, p.Format, p.Reading, p.Timestamp = t.Table, t.Index, "", nil, 0 // the rest is the job's
		if t.Filter != s.Filter {
			p.Filter = t.RowFilter().String()
		}
		tables = append(tables, p)
	}
	return tables
}

// Formats returns the detected formats of the inputs.
func (p PlanRecord) Formats() (formats []string) {
	for _, f := range p.Inputs {
		formats = append(formats, f.Format)
	}
	return formats
}

// At returns the record of a table, 0 is the first. A further table's lacks the fields that it shares with the first.
func (p *PlanRecord) At(table int) *PlanRecord {
	if table == 0 {
		return p
	}
	return &p.Tables[table-1]
}

// Of returns the plan of a table, 0 is the first. A further table's has the fields that it shares with the first.
func (p PlanRecord) Of(table int) PlanRecord {
	t := *p.At(table)
	t.Job, t.Columns, t.Timestamp, t.Staging, t.Inputs = p.Job, p.Columns, p.Timestamp, p.Staging, p.Inputs
	return t
}

// tableDifferences returns the changes in further tables.
func (p PlanRecord) tableDifferences(now PlanRecord) (all []string) {
	names := func(p PlanRecord) (list []string) {
		for _, t := range p.Tables {
			list = append(list, t.Table)
		}
		return list
	}
	if was, is := names(p), names(now); !slices.Equal(was, is) {
		return []string{fmt.Sprintf("the list of further tables was %v, it is %v", was, is)}
	}
	for i, t := range p.Tables {
		for _, d := range t.rowDifferences(now.Tables[i]) {
			all = append(all, fmt.Sprintf("table %s: %s", t.Table, d))
		}
	}
	return all
}
