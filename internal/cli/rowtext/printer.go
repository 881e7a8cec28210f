package rowtext

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/cli/settings"
	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// Printer prints rows, as lines of JSON, as CSV with a header, or as a table.
type Printer struct {
	w      *bufio.Writer
	format string
	family string
	known  []string // columns of the job, in the job's order

	// CSV and table have a header line of columns. If the user does not name the columns, they are those of the first
	// rows, which are buffered.
	columns []string
	at      map[string]int
	held    []loader.Row
	bytes   int
	widths  []int // of the format table
	csv     *csv.Writer
	line    []string
	buf     []byte
}

// Limits of the rows that are buffered to determine the columns and their widths.
const (
	heldRows  = 1000
	heldBytes = 4 << 20
)

// New returns a printer of a format: jsonl, csv or table. Its columns are the given ones, or those of the rows in the order of the job.
func New(w *bufio.Writer, format string, spec spec.Spec, columns []string) *Printer {
	p := &Printer{w: w, format: format, family: spec.FamilyName(), csv: csv.NewWriter(w)}
	for _, c := range spec.Columns {
		p.known = append(p.known, rowLabel(&loader.Cell{Family: []byte(p.family), Qualifier: []byte(c)}, p.family))
	}
	for _, c := range columns {
		f, q := query.SplitColumn(c, p.family)
		p.columns = append(p.columns, rowLabel(&loader.Cell{Family: []byte(f), Qualifier: []byte(q)}, p.family))
	}
	return p
}

// Row prints a row, or holds it until the columns are known.
func (p *Printer) Row(r loader.Row) error {
	if p.format == "jsonl" {
		p.buf = appendRow(p.buf[:0], r, p.family)
		_, err := p.w.Write(p.buf)
		return err
	}
	if p.at == nil {
		p.held = append(p.held, r)
		p.bytes += len(r.Key)
		for i := range r.Cells {
			p.bytes += len(r.Cells[i].Value)
		}
		if p.format == "table" || p.columns == nil {
			if len(p.held) < heldRows && p.bytes < heldBytes {
				return nil
			}
		}
		return p.release()
	}
	return p.print(r)
}

// finish prints the buffered rows, or at least the header if there are no rows.
func (p *Printer) finish() error {
	if p.format == "jsonl" {
		return nil
	}
	if p.at == nil {
		if err := p.release(); err != nil {
			return err
		}
	}
	p.csv.Flush()
	return p.csv.Error()
}

// End ends the output of a read, which may have an error. All its rows are printed before report names the page that follows them; if they cannot be
// printed, report is not called.
func (p *Printer) End(read error, st *query.ReadStats, report func() error) error {
	if st == nil {
		return read
	}
	var unprinted error
	if read == nil || st.Rows > 0 {
		unprinted = p.finish()
	}
	if unprinted = cmp.Or(unprinted, p.w.Flush()); unprinted != nil {
		return cmp.Or(read, unprinted)
	}
	return cmp.Or(read, report())
}

// release determines the columns and prints the buffered rows.
func (p *Printer) release() error {
	if p.columns == nil {
		p.columns = p.seen()
	}
	p.at = make(map[string]int, len(p.columns))
	for i, c := range p.columns {
		p.at[c] = i + 1
	}
	p.line = make([]string, 1+len(p.columns))
	header := append([]string{"rowkey"}, p.columns...)
	if p.format == "table" {
		p.widths = make([]int, len(header))
		measure := func() {
			for i, s := range p.line {
				p.widths[i] = max(p.widths[i], utf8.RuneCountInString(s))
			}
		}
		copy(p.line, header)
		measure()
		for _, r := range p.held {
			if err := p.fields(r); err != nil {
				return err
			}
			measure()
		}
	}
	copy(p.line, header)
	if err := p.printLine(); err != nil {
		return err
	}
	for _, r := range p.held {
		if err := p.print(r); err != nil {
			return err
		}
	}
	p.held = nil
	return nil
}

// seen returns the columns of the buffered rows: in the order of the job if the rows have no other columns, else in
// the order of their names.
func (p *Printer) seen() []string {
	var names []string
	at := map[string]bool{}
	for _, r := range p.held {
		for i := range r.Cells {
			if n := rowLabel(&r.Cells[i], p.family); !at[n] {
				at[n] = true
				names = append(names, n)
			}
		}
	}
	for _, n := range p.known {
		delete(at, n)
	}
	if len(p.known) > 0 && len(at) == 0 {
		return p.known
	}
	slices.Sort(names)
	return names
}

func (p *Printer) print(r loader.Row) error {
	if err := p.fields(r); err != nil {
		return err
	}
	return p.printLine()
}

func (p *Printer) fields(r loader.Row) error {
	controls := "\t\r\n"
	if p.format == "table" {
		controls = ""
	}
	clear(p.line)
	p.line[0] = rowkey.String(r.Key)
	for i := range r.Cells {
		c := &r.Cells[i]
		name := rowLabel(c, p.family)
		at, ok := p.at[name]
		if !ok {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("row %s has the column %q, which the first rows do not have: name the columns to print with --columns", p.line[0], name), "columns"))
		}
		p.line[at] = textOf(c.Value, controls)
	}
	return nil
}

func (p *Printer) printLine() error {
	if p.format == "csv" {
		return p.csv.Write(p.line)
	}
	p.buf = p.buf[:0]
	for i, s := range p.line {
		p.buf = append(p.buf, s...)
		if i < len(p.line)-1 {
			p.buf = append(p.buf, strings.Repeat(" ", max(p.widths[i]-utf8.RuneCountInString(s), 0)+2)...)
		}
	}
	p.buf = append([]byte(strings.TrimRight(string(p.buf), " ")), '\n')
	_, err := p.w.Write(p.buf)
	return err
}

// appendRow appends a row as a line of JSON, with columns in the order of the table.
func appendRow(dst []byte, r loader.Row, family string) []byte {
	var text celltype.JSONForm // a string, or an object with Base64 if it is not UTF-8
	dst = append(dst, `{"rowkey":`...)
	dst = text.Append(dst, r.Key)
	for i := range r.Cells {
		dst = append(dst, ',')
		dst = text.Append(dst, []byte(rowLabel(&r.Cells[i], family)))
		dst = append(dst, ':')
		dst = text.Append(dst, r.Cells[i].Value)
	}
	return append(dst, "}\n"...)
}
