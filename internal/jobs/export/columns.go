package export

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// RowColumn is the name of the column with the row key, in HBase's printed form
// (Bytes.toStringBinary).
const RowColumn = "$row"

// StampColumn is the name of the column with a version's timestamp, in milliseconds, in exports without a job.
const StampColumn = tablesource.StampColumn

// A column is a column of the records.
type column struct {
	name              string
	key               bool // the row key
	stamp             bool // the timestamp of the record's cells, whether or not a cell also stores it
	family, qualifier string
	typ               celltype.Type
	append            celltype.Appender  // nil: text, as it is stored
	back              celltype.Converter // inverse of append
	dates             *keygen.Dates      // of a timestamp that is also stored
	keyed             bool               // the row key depends on it, so each version must have it
	bytes             bool               // values may have any bytes
	absent, empty     standIn            // what is written for a missing cell, and for an empty one
}

// cell reports whether the column is a cell of the table.
func (c *column) cell() bool { return c.family != "" }

// standIn is the text or NULL that is written for a missing or an empty cell.
type standIn uint8

const (
	refused   standIn = iota // nothing, because it would be read back as something else: it is an error
	asNull                   // NULL
	asNothing                // an empty text
)

// cellColumns sets the columns of an export without a job: the key, and cells by name.
func (p *Plan) cellColumns() error {
	if len(p.options.Columns) == 0 {
		if p.open = p.options.Format == JSONL; !p.open {
			return setting.Errorf("format %s has the same columns in all records: name them with %s as family:qualifier, or give a job file with %s", string(p.options.Format), setting.Columns, setting.Job)
		}
		return nil
	}
	p.columns = []column{{name: RowColumn, key: true}}
	if p.versions() {
		p.columns = append(p.columns, stampColumn(StampColumn, celltype.Type{Type: "long"}))
	}
	var errs []error
	for _, name := range p.options.Columns {
		if name == RowColumn || name == StampColumn && p.versions() {
			continue // always included
		}
		family, text, ok := strings.Cut(name, ":")
		q, err := rowkey.Parse(text)
		switch {
		case !ok || family == "":
			errs = append(errs, fmt.Errorf("column %q: write it as family:qualifier; without a job file there is no family to add", name))
			continue
		case err != nil:
			errs = append(errs, fmt.Errorf("column %q: %w", name, err))
			continue
		}
		c := column{name: name, family: family, qualifier: string(q), bytes: true, absent: asNull, empty: asNothing}
		if slices.ContainsFunc(p.columns, func(o column) bool { return !o.key && o.family == c.family && o.qualifier == c.qualifier }) {
			errs = append(errs, fmt.Errorf("column %q is the cell of another column, too", name))
		}
		p.columns = append(p.columns, c)
	}
	return errors.Join(errs...)
}

// jobColumns sets the job's columns, each with the cell that holds it.
func (p *Plan) jobColumns(s spec.Spec) error {
	names := p.options.Columns
	if len(names) == 0 {
		names = s.Columns
	}
	if len(names) == 0 {
		return setting.Errorf("the job file lists no columns (they come from the inputs): name those to write with %s", setting.Columns)
	}
	var errs []error
	if p.versions() {
		errs = append(errs, checkVersions(s, names))
	}
	for _, name := range names {
		if name == RowColumn {
			errs = append(errs, fmt.Errorf("column %s is for exports without a job file: the job's columns give the key", RowColumn))
			continue
		}
		if len(s.Columns) > 0 && !slices.Contains(s.Columns, name) {
			errs = append(errs, fmt.Errorf("column %q is not a column of the job (%s)", name, strings.Join(s.Columns, ", ")))
			continue
		}
		c, err := p.jobColumn(s, name)
		if t := s.CellTimestamp; p.versions() && t != nil && t.Column == name {
			c, err = withTimestamp(c, err, t)
		}
		c.keyed = p.versions() && p.options.Job.RowKey() != nil && slices.Contains(keygen.Columns(p.options.Job.RowKey()), name)
		if err != nil {
			errs = append(errs, fmt.Errorf("column %q: %w", name, err))
			continue
		}
		p.columns = append(p.columns, c)
	}
	return errors.Join(errs...)
}

// checkVersions refuses a job that would not read versions back unchanged.
func checkVersions(s spec.Spec, names []string) error {
	switch t := s.CellTimestamp; {
	case t == nil:
		return setting.Errorf("%s: the job has no cell_timestamp, a column for the time of each version: give it one, or export without the job file", setting.Versions)
	case s.Duplicates != "versions":
		return setting.Errorf("%s: a job that reads them has duplicates: versions; give it that, or export without the job file", setting.Versions)
	case !slices.Contains(names, t.Column):
		return setting.Errorf("%s: column %q has the time of each version (cell_timestamp): name it in %s too", setting.Versions, t.Column, setting.Columns)
	}
	return nil
}

// stampColumn returns the column for the timestamp of the record's cells, which no cell stores.
func stampColumn(name string, typ celltype.Type) column {
	c := column{name: name, stamp: true, typ: typ, append: typ.Appender()}
	c.back, _ = typ.Converter() // the job's layout was parsed before
	return c
}

// withTimestamp returns the column of the job's cell_timestamp. c is the column if a cell stores it; err means that none does, and then the column is for
// the timestamp alone.
func withTimestamp(c column, err error, t *spec.TimeColumn) (column, error) {
	if err != nil {
		return stampColumn(t.Column, celltype.Type{Type: "timestamp", Layout: t.Layout, Zone: t.Zone}), nil
	}
	c.stamp, c.absent, c.empty = true, refused, refused
	c.dates, err = t.Dates()
	return c, err
}

// jobColumn finds the cell of a column. A cell with the column's text is preferred
// to one of another type.
func (p *Plan) jobColumn(s spec.Spec, name string) (column, error) {
	var found *spec.CellSpec
	elsewhere := ""
	for i, c := range s.Entries() {
		switch {
		case c.QualifierFrom != "" && (c.QualifierFrom == name || slices.Contains(c.ColumnNames(), name)):
			return column{}, errors.New("the job joins several records in one row (qualifier_from), which export cannot split: export the cells without the job file")
		case c.JSON && (len(c.Columns) == 0 || slices.Contains(c.Columns, name)):
			elsewhere = "it is in a JSON object"
		case c.Value != nil:
		case c.Rest && !slices.Contains(s.UsedColumns(), name), slices.Contains(c.ColumnNames(), name) && !c.JSON:
			if found == nil || c.CellType().Appender() == nil && found.CellType().Appender() != nil {
				found = &s.Entries()[i]
			}
		}
	}
	if found == nil {
		elsewhere = cmp.Or(elsewhere, "the table does not store it, except perhaps in the row key")
		return column{}, setting.Errorf("no cell stores it: %s; name the other columns with %s", elsewhere, setting.Columns)
	}
	typ := found.CellType()
	convert, err := typ.Converter()
	if err != nil {
		return column{}, err
	}
	c := column{name: name, family: cmp.Or(found.Family, s.FamilyName()), qualifier: cmp.Or(found.Qualifier, name), typ: typ, append: typ.Appender(), back: convert}
	if convert != nil && c.append == nil {
		return column{}, fmt.Errorf("type %s of %s has no text form: export the cell without the job file", typ.Type, typ.Encoding)
	}
	c.setStandIns(s, found, p.text == nil || p.text.hasNull())
	return c, nil
}

// setStandIns determines what is written for a missing and for an empty cell, from the
// job's handling of NULL and of empty texts. nulls reports whether the format has NULL.
func (c *column) setStandIns(s spec.Spec, cell *spec.CellSpec, nulls bool) {
	of := s
	of.Empty = cmp.Or(cell.Empty, s.Empty)
	text := c.append == nil
	storesEmpty := text && of.StoresEmpty(nulls)
	storesNull := text && cell.Nulls == "store"
	switch {
	case nulls && !storesNull:
		c.absent = asNull
	case !storesEmpty:
		c.absent = asNothing
	}
	switch {
	case storesEmpty:
		c.empty = asNothing
	case nulls && storesNull:
		c.empty = asNull
	}
}
