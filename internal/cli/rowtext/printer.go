package rowtext

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
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

// rowLabel returns the name of a cell's column, which no other column has. Where the qualifier alone could be taken for another column, or for the
// row key, the family precedes it; a backslash that could be taken for the beginning of \xNN is \x5C.
func rowLabel(c *loader.Cell, family string) string {
	name := textOf(c.Qualifier, "")
	if isText(c.Qualifier, "") && strings.Contains(name, `\x`) {
		name = strings.ReplaceAll(name, `\`, `\x5C`)
	}
	if string(c.Family) != family || name == "rowkey" || strings.Contains(name, ":") {
		return textOf(c.Family, "") + ":" + name
	}
	return name
}

// textOf returns bytes as text. UTF-8 without control characters, except those of the given list, is unchanged. Otherwise each
// backslash and each byte that is not text becomes \xNN.
func textOf(v []byte, controls string) string {
	if isText(v, controls) {
		return string(v)
	}
	var text []byte
	for len(v) > 0 {
		_, n := utf8.DecodeRune(v)
		if v[0] != '\\' && isText(v[:n], controls) {
			text = append(text, v[:n]...)
		} else {
			text = rowkey.Append(text, v[:1])
		}
		v = v[n:]
	}
	return string(text)
}

func isText(v []byte, controls string) bool {
	for _, c := range v {
		if (c < 0x20 || c == 0x7f) && strings.IndexByte(controls, c) < 0 {
			return false
		}
	}
	return utf8.Valid(v)
}

// PrintStats prints the next page of a read, and if explain is set the statistics of each region.
func PrintStats(w io.Writer, st *query.ReadStats, explain bool) {
	if explain {
		printRegions(w, st)
	}
	if st.Next != "" {
		fmt.Fprintf(w, "next page: --page %s\n", st.Next)
	}
}

func printRegions(w io.Writer, st *query.ReadStats) {
	fmt.Fprintf(w, "%s of %s and %s: %s to find the cluster and the table, %s to read\n",
		setting.Count(st.Rows, "row"), setting.Count(st.Heads, "salt"), setting.Count(len(st.Regions), "region"), ui.Round(st.Dial), ui.Round(st.Scan))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "region\trange\tserver\tscans\trows\tbytes\ttime\tblocks\tdisk reads")
	for _, r := range st.Regions {
		reads := "not reported"
		if r.DiskReads >= 0 {
			reads = fmt.Sprint(r.DiskReads)
		}
		fmt.Fprintf(t, "%s\t[%s, %s)\t%s\t%d\t%d\t%d\t%s\t~%d\t%s\n", r.Region, rowkey.String(r.Start), rowkey.String(r.End), r.Server,
			r.Scans, r.Rows, r.Bytes, ui.Round(r.Took()), r.Blocks, reads)
	}
	t.Flush()
	fmt.Fprintln(w, "blocks are estimated from bytes and the block size; disk reads are the server's count of blocks that were not in its cache")
}
