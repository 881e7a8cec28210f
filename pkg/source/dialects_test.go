package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// exporterSample is a file of testdata/source/dialects, with its settings and the expected rows; its README describes the fields.
type exporterSample struct {
	Path, Format string
	Read         struct {
		Separator   string
		RecordEnd   string `json:"record_end"`
		Quote       string
		Doubled     *bool `json:"quote_doubled"`
		Lookahead   bool  `json:"quote_lookahead"`
		Escape      string
		EscapeMap   string `json:"escape_map"`
		QuotedOnly  bool   `json:"escape_only_in_quotes"`
		Null        string
		NullQuoted  bool `json:"null_when_quoted"`
		Charset     string
		Header      bool
		SkipLines   int `json:"skip_lines"`
		Footer      int `json:"footer_records"`
		Columns     []string
		Partitions  []string `json:"partition_columns"`
		NoPartition string   `json:"null_partition"`
	}
	Rows     int
	Readable *bool
	Expected *string
}

const exporterSamples = "../../testdata/source/dialects/"

func readSamples(t *testing.T) []exporterSample {
	t.Helper()
	data, err := os.ReadFile(exporterSamples + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Samples []exporterSample }
	if err := json.Unmarshal(data, &m); err != nil || len(m.Samples) < 90 {
		t.Fatalf("%d samples: %v", len(m.Samples), err)
	}
	return m.Samples
}

// dialect returns the dialect of a sample, from its manifest.
func (s *exporterSample) dialect() dialect.Dialect {
	r := &s.Read
	d := dialect.Dialect{Name: "sample", FieldSep: r.Separator, RecordSep: r.RecordEnd, Quote: r.Quote, Escape: r.Escape, Map: dialect.Literal,
		QuotedOnly: r.QuotedOnly, NullQuoted: r.NullQuoted && r.Quote != "", Header: dialect.HeaderNo, SkipLines: r.SkipLines, SkipEnd: r.Footer, Trim: dialect.TrimNone}
	if r.RecordEnd == "crlf" || r.RecordEnd == "lf|crlf" || r.RecordEnd == "\r\n" {
		d.RecordSep = ""
	}
	if r.EscapeMap != "" {
		d.Map = dialect.Map(r.EscapeMap)
	}
	d.Lenient = r.Lookahead
	d.Doubled = r.Quote != "" && !r.Lookahead && (r.Doubled == nil || *r.Doubled)
	d.Null = []string{r.Null}
	if r.Header {
		d.Header = dialect.HeaderYes
	}
	d.Charset = r.Charset
	return d
}

// expectedRows returns the expected rows of a sample, by column, from a file of them.
func expectedRows(t *testing.T, name string) []map[string]any {
	t.Helper()
	f, err := os.Open(exporterSamples + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var rows []map[string]any
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var row map[string]any
		if err := d.Decode(&row); err == io.EOF {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
}

// rowsOf reads an input, and returns each row's values by column, nil for NULL.
func rowsOf(t *testing.T, in *Input) ([]map[string]any, error) {
	t.Helper()
	var rows []map[string]any
	r := in.NewReader()
	for split := range in.Splits() {
		err := r.Read(t.Context(), split, func(b *Batch) error {
			for i := range b.Rows {
				row := map[string]any{}
				for c, name := range in.Columns() {
					if row[name] = nil; !b.Null(i, c) {
						row[name] = string(b.Field(i, c))
					}
				}
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// TestExporters reads files of exporters, in splits of several sizes.
func TestExporters(t *testing.T) {
	for _, s := range readSamples(t) {
		if s.Format != "text" {
			continue
		}
		t.Run(s.Path, func(t *testing.T) {
			d := s.dialect()
			for _, size := range []int64{0, 1 << 10, 64, 7} {
				o := Options{Dialect: &d, SplitSize: size}
				if d.Header == dialect.HeaderNo {
					o.Columns = s.Read.Columns
				}
				in, err := Open(t.Context(), disk, []string{exporterSamples + s.Path}, o)
				var rows []map[string]any
				if err == nil {
					rows, err = rowsOf(t, in)
				}
				if s.Readable != nil && !*s.Readable {
					if err == nil {
						t.Errorf("splits of %d: it is read: %d rows", size, len(rows))
					}
					continue
				}
				if err != nil {
					t.Fatalf("splits of %d: %v", size, err)
				}
				want := expectedRows(t, *s.Expected)
				if len(want) != s.Rows || len(rows) != len(want) {
					t.Fatalf("splits of %d: %d rows, want %d", size, len(rows), s.Rows)
				}
				for i := range want {
					if got, want := fmt.Sprintf("%q", rows[i]), fmt.Sprintf("%q", want[i]); got != want {
						t.Errorf("splits of %d, row %d:\n%s\n%s", size, i+1, got, want)
					}
				}
				if size == 64 && in.Files()[0].Size > 1000 && len(in.Splits()) < 2 && d.Cuttable() && !strings.HasPrefix(d.Charset, "utf-16") {
					t.Errorf("%d splits", len(in.Splits()))
				}
			}
		})
	}
}

// TestEndOfPostgres checks that PostgreSQL's mark of the end of data is ignored at the end and is a record anywhere else, wherever a chunk ends.
func TestEndOfPostgres(t *testing.T) {
	d, err := dialect.Preset(dialect.PostgresTxt)
	if err != nil {
		t.Fatal(err)
	}
	lines := d
	lines.RecordSep = ""
	for _, tt := range []struct {
		d       *dialect.Dialect
		columns []string
		text    string
		want    string
	}{
		{&d, []string{"a"}, "1\n\\.\n2\n\\.\n", "[[1] [.] [2]]"},
		{&d, []string{"a"}, "1\n2\n\\.", "[[1] [2]]"},
		{&d, []string{"a", "b"}, "1\ta\n2\tb\n\\.\n", "[[1 a] [2 b]]"},
		{&lines, []string{"a"}, "1\r\n\\.\r\n2\r\n\\.\r\n", "[[1] [.] [2]]"},
	} {
		for chunk := 1; chunk <= len(tt.text)+1; chunk++ {
			for _, name := range []string{"x.txt", "x.txt.gz"} {
				data := []byte(tt.text)
				if name != "x.txt" {
					data = pack(t, "gz", data)
				}
				for _, split := range []int64{0, 1, 5} {
					rows, err := loadBytes(t, Options{Dialect: tt.d, Columns: tt.columns, ChunkSize: chunk, SplitSize: split}, name, data)
					if got := fmt.Sprint(values(rows)); err != nil || got != tt.want {
						t.Fatalf("%q in %s, chunks of %d, splits of %d: %s, %v", tt.text, name, chunk, split, got, err)
					}
				}
			}
		}
	}
}

// TestSplitsBeginWhereRecordsDo checks that text is read in splits as in one where it depends on bytes far before them, or on the beginning of the file,
// whether a record begins.
func TestSplitsBeginWhereRecordsDo(t *testing.T) {
	gbk := func(d *dialect.Dialect) { d.FieldSep, d.RecordSep, d.Charset = "\x01", "|\n", "gbk" }
	comma := func(d *dialect.Dialect) { d.FieldSep = "," }
	escapes := strings.Repeat("1,a\n", 20) + "2," + strings.Repeat(`\`, 2*100_001) + "\\\nb\n" + strings.Repeat("3,c\n", 20)
	overlapping := &dialect.Dialect{Name: dialect.Fixed, RecordSep: "||", Header: dialect.HeaderNo, Map: dialect.Literal, Trim: dialect.TrimRight, Positions: []dialect.Position{{Name: "a", From: 1, To: 4}}}
	for _, tt := range []struct {
		d    *dialect.Dialect
		text string
		size int64
		rows int
	}{
		{dialectOf(t, dialect.Hive, gbk), strings.Repeat("1\x01x\x81|\ny|\n", 100), 1 << 20, 100},
		{dialectOf(t, dialect.Hive, gbk), strings.Repeat("1\x01x\x81|\ny|\n", 100), 7, 100},
		{dialectOf(t, dialect.Hive, gbk), "1\x01" + strings.Repeat("\x81|", 100_000) + "\n|\n" + strings.Repeat("2\x01b|\n", 50_000), 70_001, 50_001},
		{dialectOf(t, dialect.HiveEscaped, comma), escapes, 200_000, 41},
		{dialectOf(t, dialect.HiveEscaped, comma), escapes, 200_001, 41},
		{overlapping, strings.Repeat("|abc||", 100), 1 << 20, 100},
		{overlapping, strings.Repeat("|abc||", 100), 7, 100},
	} {
		o := Options{Dialect: tt.d, SplitSize: tt.size, Columns: []string{"a", "b"}}
		if tt.d.Fixed() {
			o.Columns = nil
		}
		in, err := Open(t.Context(), memory("/x.txt", []byte(tt.text)), []string{"/x.txt"}, o)
		var rows []string
		if err == nil {
			err = showRows(t, in, &rows)
		}
		if err != nil || len(rows) != tt.rows {
			t.Errorf("%s, splits of %d bytes: %d rows of %d, %v", tt.d, tt.size, len(rows), tt.rows, err)
		}
	}
}
