package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// Format is the file format.
type Format string

// The formats.
const (
	CSV     Format = "csv"  // text with quotes; in the job's dialect if it has one
	Dump    Format = "dump" // text without quotes: 0x01 between columns, 0x10 after a record
	Parquet Format = "parquet"
	JSONL   Format = "jsonl" // one object per line
)

// Formats returns all formats.
func Formats() []string { return []string{string(CSV), string(Dump), string(Parquet), string(JSONL)} }

// Options describe the output. Format is required, and without a job so are
// Columns, except for JSONL.
type Options struct {
	Format Format
	// Job has the mapping and the dialect with which the files can be loaded again. nil:
	// columns are cells.
	Job *spec.Job
	// Columns are the job's columns to write, in this order; default all. Without a job they are
	// family:qualifier, with bytes as \xNN; for JSONL the default is every cell.
	Columns []string
	// Choice selects the cells of the table to write. Its original keys are those of the job's key spec. Default: all.
	Choice choice.Asked
	// Workers is the number of regions read concurrently. Default 1; fewer if Memory is insufficient.
	Workers int
	// Memory bounds the memory of all workers. Default 512 MiB.
	Memory spec.Size
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, 1)
	o.Memory = cmp.Or(o.Memory, spec.DefaultMemory)
	return o
}

// A Plan converts rows to records. It is immutable and may be used for several
// snapshots.
type Plan struct {
	options Options
	columns []column
	byCell  []int    // columns that are cells, ordered by cell
	family  []string // families to read; empty: all
	open    bool     // records have every cell of a row, with its name
	text    *text    // settings of text formats, else nil
}

// Compile checks the options and returns the plan. [Plan.Write] checks whether the
// table has the families. The error lists all problems at once.
func Compile(o Options) (_ *Plan, err error) {
	o = o.withDefaults()
	if !slices.Contains(Formats(), string(o.Format)) {
		return nil, fail.Errorf(fail.Config, "%s %q is invalid: want one of %s", setting.Format, string(o.Format), strings.Join(Formats(), ", "))
	}
	if o.Workers < 0 || o.Memory < 0 {
		return nil, fail.Errorf(fail.Config, "%s %d, %s %d: neither may be below 0", setting.Workers, o.Workers, setting.Memory, o.Memory)
	}
	p := &Plan{options: o}
	if o.Format == CSV || o.Format == Dump {
		if p.text, err = newText(o.Format, o.Job); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	}
	if o.Job != nil {
		err = p.jobColumns(o.Job.Spec())
	} else {
		err = p.cellColumns()
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	p.index()
	c, err := p.choice(nil)
	if err != nil {
		return nil, err
	}
	for i := range p.columns {
		if x := &p.columns[i]; x.cell() && !c.Has([]byte(x.family), []byte(x.qualifier)) {
			return nil, fail.Errorf(fail.Config, "column %q: %s does not have its cell: name it there too, or leave it out of %s", x.name, setting.Only, setting.Columns)
		}
	}
	return p, nil
}

// choice returns the cells to write. If the key spec does not give the number of salts, the table's split points do; they are nil while unknown.
func (p *Plan) choice(splits [][]byte) (c choice.Choice, err error) {
	k := choice.Keys{Name: setting.Job}
	if p.options.Job != nil && p.options.Choice.ByKey() {
		k.Spec = p.options.Job.RowKey()
		if k.Modulus, err = p.options.Job.SaltModulus(splits); splits != nil && err != nil {
			return c, err
		}
	}
	return p.options.Choice.Resolve(k)
}

// versions reports whether records are versions of rows.
func (p *Plan) versions() bool { return p.options.Choice.Versions != 0 }

// check refuses columns that the format does not support.
func (p *Plan) check() error {
	if len(p.columns) == 0 && !p.open {
		return setting.Errorf("no column is named: give the names with %s", setting.Columns)
	}
	var errs []error
	for i := range p.columns {
		c := &p.columns[i]
		if slices.ContainsFunc(p.columns[:i], func(o column) bool { return o.name == c.name }) {
			errs = append(errs, fmt.Errorf("column %q is named twice", c.name))
		}
		if p.text != nil {
			if err := p.text.checkName(c.name, i == 0, len(p.columns)); err != nil {
				errs = append(errs, fmt.Errorf("column %q: its name cannot be written: %w", c.name, err))
			}
		}
	}
	if p.options.Format == JSONL && p.jsonPaths() {
		for _, c := range p.columns {
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(c.name, `\\`, ""), `\.`, ""), ".") {
				errs = append(errs, fmt.Errorf("column %q is a path into a JSON object, which export does not write: leave it out, or choose another format", c.name))
			}
		}
	}
	return errors.Join(errs...)
}

// jsonPaths reports whether column names are paths of JSON members.
func (p *Plan) jsonPaths() bool { return p.options.Job != nil && p.options.Job.Format == "json" }

// index sorts the columns into the order of their cells.
func (p *Plan) index() {
	for i := range p.columns {
		c := &p.columns[i]
		if !c.cell() {
			continue
		}
		p.byCell = append(p.byCell, i)
		if !slices.Contains(p.family, c.family) {
			p.family = append(p.family, c.family)
		}
	}
	slices.SortFunc(p.byCell, func(a, b int) int {
		x, y := &p.columns[a], &p.columns[b]
		return cmp.Or(strings.Compare(x.family, y.family), strings.Compare(x.qualifier, y.qualifier))
	})
}

// Columns returns the names of the records' columns; none for records with every cell.
func (p *Plan) Columns() []string {
	names := make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.name
	}
	return names
}

// Settings returns the settings for reading the files back, by the names of a job file's fields.
func (p *Plan) Settings() map[string]any {
	m := map[string]any{"format": string(p.options.Format)}
	switch {
	case p.options.Format == JSONL:
		m["format"] = "json"
	case p.text != nil:
		p.text.settings(m)
	}
	if p.text != nil && p.text.dialect.Header != dialect.HeaderYes {
		m["columns"] = p.Columns()
	}
	return m
}

// asked returns a checksum of everything that determines the contents of the files. For the dialect, it uses the settings of [Plan.Settings].
func (p *Plan) asked() string {
	sum := sha256.New()
	e := json.NewEncoder(sum)
	job := spec.Spec{}
	if p.options.Job != nil {
		job = p.options.Job.Spec()
	}
	parts := []any{p.options.Format, p.Columns(), p.options.Choice, p.Settings(), job.Mapping, job.Key, job.Empty, job.Columns, job.Regions, p.jsonPaths()}
	for _, c := range p.columns {
		parts = append(parts, []byte(c.family), []byte(c.qualifier))
	}
	for _, part := range parts {
		if err := e.Encode(part); err != nil {
			panic(err) // texts and numbers always encode
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
