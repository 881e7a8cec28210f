package dialects

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// nullWords are common texts for NULL.
var nullWords = []string{"", `\N`, "NULL", "null", "Null", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "None", "none", "nil", "NIL", "-", "--", "?", ".", "*",
	"0", "1", "-1", "N", "O", "n", "(null)", "<null>", "[null]", "(none)", "undefined", "missing", "void", "NUL", " ", "\x00", "_", "{}", "1970-01-01", "9999-12-31"}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomDialect returns any dialect that can be read.
func randomDialect(r *rand.Rand) *dialect.Dialect {
	for {
		d := &dialect.Dialect{Name: "random", Map: dialect.Literal, Trim: dialect.TrimNone}
		d.FieldSep = pick(r, ",", ",", "\t", "|", ";", "\x01", " ", ":", "||", ",;,", "@|@", "§", "\xfe", "\x1f")
		d.RecordSep = pick(r, "", "", "", "\n", "\n", "\r\n", "\x10", "#;#\n", ";\n", "\x1e")
		if r.IntN(3) > 0 {
			d.Quote = pick(r, `"`, `"`, `"`, "'", "\x02")
			d.Doubled, d.Lenient = r.IntN(4) > 0, r.IntN(6) == 0
			d.NullQuoted = r.IntN(6) == 0
		}
		if r.IntN(5) < 2 {
			d.Escape, d.Map = pick(r, `\`, `\`, "^", "~"), pick(r, dialect.Maps()...)
			d.QuotedOnly = d.Quote != "" && r.IntN(2) == 0
		}
		for range pick(r, 0, 1, 1, 1, 1, 2, 3) {
			d.Null = append(d.Null, pick(r, pick(r, nullWords...), string(randomBytes(r, 1+r.IntN(7)))))
		}
		d.Header = pick(r, dialect.HeaderYes, dialect.HeaderNo, dialect.HeaderFirst, dialect.HeaderMatch)
		if strings.HasSuffix(d.RecordSep, "\n") || d.RecordSep == "" {
			d.SkipLines, d.SkipEnd = pick(r, 0, 0, 0, 1, 3), pick(r, 0, 0, 0, 1, 2)
		}
		d.Comment = pick(r, "", "", "", "", "#", "//", "--")
		d.Trim = pick(r, dialect.TrimNone, dialect.TrimNone, dialect.TrimNone, dialect.TrimLeft, dialect.TrimRight, dialect.TrimBoth)
		d.Last = pick(r, dialect.LastPlain, dialect.LastPlain, dialect.LastPlain, dialect.LastPlain, dialect.LastSeparated, dialect.LastRest)
		if d.Check() == nil {
			return d
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if r.IntN(3) > 0 {
			b[i] = 0x20 + b[i]%0x5f
		}
	}
	return b
}

// A randomText is a file of a random dialect.
type randomText struct {
	d       *dialect.Dialect
	options source.Options
	names   []string // of the columns, in the order of the file
	header  bool
	text    []byte
}

func newRandomText(r *rand.Rand, size int) *randomText {
	x := &randomText{d: randomDialect(r)}
	x.options = source.Options{Format: source.FormatText, Dialect: x.d}
	switch r.IntN(5) {
	case 0: // CSV, which has its own reader
		x.d = &dialect.Dialect{Name: "csv", FieldSep: pick(r, ",", ";", "\t", "\xfe"), Quote: `"`, Doubled: true, Map: dialect.Literal, Header: pick(r, dialect.HeaderYes, dialect.HeaderNo), Trim: dialect.TrimNone}
		x.options = source.Options{Format: source.FormatCSV, FieldSep: source.SepOf(x.d.FieldSep[0])}
		if x.d.Header == dialect.HeaderNo {
			x.options.Header = source.HeaderNone
		}
	case 1: // and a dump
		x.d = &dialect.Dialect{Name: "dump", FieldSep: pick(r, "\x01", "|", ",", "\xfe"), RecordSep: pick(r, "\x10", "\n", "\xff"), Map: dialect.Literal, Header: dialect.HeaderNo, Trim: dialect.TrimNone}
		x.options = source.Options{Format: source.FormatDump, FieldSep: source.SepOf(x.d.FieldSep[0]), RecordSep: source.SepOf(x.d.RecordSep[0])}
	}
	for c := range pick(r, 1, 2, 2, 3, 4, 5, 9, 40) {
		x.names = append(x.names, fmt.Sprint("col", c))
	}
	x.options.Columns = slices.Clone(x.names)
	switch x.d.Header {
	case dialect.HeaderYes, dialect.HeaderFirst:
		x.header = true
		r.Shuffle(len(x.names), func(i, j int) { x.names[i], x.names[j] = x.names[j], x.names[i] })
		if r.IntN(2) == 0 {
			x.options.Columns = nil
		}
	case dialect.HeaderMatch:
		x.header = r.IntN(2) == 0
	}
	x.write(r, size)
	return x
}

// write writes a file of about the given number of bytes.
func (x *randomText) write(r *rand.Rand, size int) {
	end := func() string {
		if x.d.RecordSep == "" {
			return pick(r, "\n", "\n", "\r\n")
		}
		return x.d.RecordSep
	}
	var b []byte
	for range x.d.SkipLines {
		b = append(b, pick(r, "a report\n", "\n", "of \"what\n")...)
	}
	row := func(values func(c int) string) {
		for c := range x.names {
			if c > 0 {
				b = append(b, x.d.FieldSep...)
			}
			b = append(b, values(c)...)
		}
		if x.d.Last == dialect.LastSeparated {
			b = append(b, x.d.FieldSep...)
		}
		b = append(b, end()...)
	}
	if x.header {
		row(func(c int) string { return x.names[c] })
	}
	row(func(int) string { return "first" })
	awkward := pick(r, 1, 3, 10, 100) // one value in so many is malformed
	for len(b) < size {
		switch {
		case r.IntN(20) == 0 && x.d.Comment != "":
			b = append(append(b, x.d.Comment+pick(r, "", " what it's about", x.d.FieldSep, `"`, `\`)...), end()...)
		case r.IntN(40*awkward) == 0:
			b = append(b, end()...)
		default:
			row(func(int) string { return x.value(r, awkward) })
		}
	}
	if x.d.Map == dialect.Postgres && r.IntN(3) == 0 {
		b = append(append(b, `\.`...), end()...)
	}
	if n := len(b) - len(x.d.RecordSep); x.d.SkipEnd == 0 && x.d.RecordSep != "" && r.IntN(3) == 0 {
		b = b[:n] // the end of the file ends the last record
	}
	for i := range x.d.SkipEnd {
		b = append(b, pick(r, "total, 3\n", "\n", "\"\n")...)
		if i == x.d.SkipEnd-1 && r.IntN(2) == 0 {
			b = append(b[:len(b)-1], "end"...)
		}
	}
	x.text = b
}

// value returns a value in the form of the file.
func (x *randomText) value(r *rand.Rand, awkward int) string {
	d := x.d
	var text string
	switch n := r.IntN(20); {
	case n < 3 && len(d.Null) > 0:
		text = pick(r, d.Null...)
		if r.IntN(6) > 0 {
			return text
		}
	case n < 8 && len(d.Null) > 0 && d.Null[0] != "":
		// A neighbour of NULL: one bit differs, or it is one byte longer or shorter.
		near := []byte(pick(r, d.Null...))
		switch at := r.IntN(len(near) + 1); {
		case at == len(near):
			near = append(near, pick(r, "\x00", " ", "x", string(near))...)
		case r.IntN(3) == 0:
			near = slices.Delete(near, at, at+1)
		default:
			near[at] ^= 1 << r.IntN(8)
		}
		text = string(near)
	case n < 10:
	case n < 15:
		text = string(randomBytes(r, r.IntN(17)))
	case n < 16:
		text = strings.Repeat(pick(r, "x", "ab ", "\xe4\xb8\xad"), r.IntN(100))
	default:
		for range r.IntN(6) {
			text += pick(r, "a", "bc", " ", "\t", "0", "041", "x41", "n", "N", ",", `"`, "'", `\`, "^", "~", "\n", "\r\n", "#", d.FieldSep, d.FieldSep, d.FieldSep[:1], d.RecordSep, d.Quote, d.Escape, d.Comment)
		}
	}
	if d.RecordSep == "" {
		text = strings.TrimRight(text, "\r")
	}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		text = text[2:] // the byte order mark of UTF-16, which ends a job
	}
	if r.IntN(awkward*8) == 0 {
		return text // whatever its effect
	}
	if r.IntN(8) == 0 && d.Trim != dialect.TrimNone {
		defer func() { text = pick(r, "", " ", "\t") + text + pick(r, "", " ", "  ") }()
	}
	special := []string{d.FieldSep, d.Quote, "\n", "\r"}
	if d.RecordSep != "" {
		special[2], special[3] = d.RecordSep, d.RecordSep
	}
	if !d.QuotedOnly {
		special = append(special, d.Escape)
	}
	plain := !slices.ContainsFunc(special, func(s string) bool { return s != "" && strings.Contains(text, s) })
	escape := func(bytes string) {
		var b strings.Builder
		for i := range len(text) {
			if strings.IndexByte(bytes, text[i]) >= 0 {
				b.WriteString(d.Escape)
			}
			b.WriteByte(text[i])
		}
		text = b.String()
	}
	switch {
	case d.Quote != "" && d.Lenient && (!plain || r.IntN(5) == 0):
		text = d.Quote + text + d.Quote
	case d.Quote != "" && (!plain || r.IntN(5) == 0):
		if d.Escape != "" {
			escape(d.Escape)
		}
		switch {
		case d.Doubled:
			text = strings.ReplaceAll(text, d.Quote, d.Quote+d.Quote)
		case d.Escape != "":
			escape(d.Quote)
		default:
			text = strings.ReplaceAll(text, d.Quote, "")
		}
		text = d.Quote + text + d.Quote
	case plain:
	case d.Escape != "" && !d.QuotedOnly:
		escape(d.Escape + d.FieldSep + special[2] + "\r")
	default:
		for _, s := range special {
			if s != "" {
				text = strings.ReplaceAll(text, s, "")
			}
		}
	}
	return text
}

// packed returns the text in one of several compressions, with its file name ending.
func packed(r *rand.Rand, text []byte) (name string, data []byte, err error) {
	var b bytes.Buffer
	var w io.WriteCloser
	switch r.IntN(12) {
	case 0:
		name, w = ".gz", gzip.NewWriter(&b)
	case 1:
		name = ".zst"
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10), zstd.WithLowerEncoderMem(true))
	case 2:
		name, w = ".lz4", lz4.NewWriter(&b)
	case 3:
		name, w = ".sz", snappy.NewBufferedWriter(&b)
	case 4:
		name = ".xz"
		w, err = xz.WriterConfig{DictCap: 64 << 10}.NewWriter(&b)
	case 5:
		name, w = ".deflate", zlib.NewWriter(&b)
	default:
		return "", text, nil
	}
	if err != nil {
		return "", nil, err
	}
	if _, err = w.Write(text); err == nil {
		err = w.Close()
	}
	return name, b.Bytes(), err
}

// TestRandom compares the reading of random text with that of a reader that works byte by byte: its rows, and the
// positions of its bad records.
func TestRandom(t *testing.T) {
	s := seed(t)
	files := number64(t, "BULKLOAD_DIALECTS_FILES", map[bool]uint64{true: 300, false: 2000}[race.Reduced(t)])
	var rows, bad, unclosed int
	for n := range files {
		r := rand.New(rand.NewPCG(s, n))
		size := r.IntN(2500)
		switch {
		case n%200 == 199:
			size = 1 << 20
		case n%10 == 9:
			size = r.IntN(60_000)
		}
		x := newRandomText(r, size)
		if d := x.differs(t, r); d != "" {
			t.Fatalf("file %d: %s\n%s\n%.600q", n, x.d, d, x.text)
		}
		want := plainRead(x.d, x.text, x.header, len(x.names))
		rows, bad = rows+len(want.rows), bad+len(want.bad)
		if want.unclosed {
			unclosed++
		}
	}
	t.Logf("%d files: %d rows, %d bad records, %d files with a quote that is not closed", files, rows, bad, unclosed)
}

// differs reads the file several times, and returns the first difference from the plain reader.
func (x *randomText) differs(t *testing.T, r *rand.Rand) string {
	t.Helper()
	cols := len(x.names)
	want := plainRead(x.d, x.text, x.header, cols)
	order := make([]int, cols) // of the columns in batches: their positions in the file
	for c := range order {
		order[c] = c
		if x.options.Columns != nil && x.header {
			order[c] = slices.Index(x.names, x.options.Columns[c])
		}
	}
	sums := newDigest(cols)
	for i, row := range want.rows {
		ordered := make([]value, cols)
		for c := range ordered {
			ordered[c] = row[order[c]]
		}
		want.rows[i] = ordered
		d := rowOf(ordered)
		sums.append(&d)
	}
	ending, data, err := packed(r, x.text)
	if err != nil {
		t.Fatal(err)
	}
	for i, workers := range []int{1, 2, 7} {
		o := x.options
		o.SplitSize = int64(pick(r, 0, 1, 2, 3, 7, 16, 63, 64, 100, 1000, 4096, 1<<16, 1<<20))
		o.SplitSize = max(o.SplitSize, int64(len(x.text)/500))
		o.ChunkSize = pick(r, 0, 0, 1, 3, 64, 100, 5000)
		m := &mem{parts: [][]byte{data}}
		got := read(t.Context(), m, "file"+ending, o, cols, workers)
		how := fmt.Sprintf("reading %d%s: splits of %d (%d), chunks of %d, %d workers: ", i+1, ending, o.SplitSize, got.splits, o.ChunkSize, workers)
		if (got.err != "") != want.unclosed || got.err != "" && !strings.Contains(got.err, "a quote is opened and not closed") {
			return how + fmt.Sprintf("error %q, want %t", got.err, want.unclosed)
		}
		if got.rows != sums.rows || !slices.Equal(got.sums, sums.sums) {
			o.Reject = func(source.RowError) error { return nil }
			return how + fmt.Sprintf("%d rows, want %d: %s", got.rows, sums.rows, firstDifference(t.Context(), m, o, slices.Values(want.rows)))
		}
		for j := range max(len(got.rejects), len(want.bad)) {
			if j >= len(got.rejects) || j >= len(want.bad) || got.rejects[j].Offset != int64(want.bad[j].at) || got.rejects[j].Raw != crc32.ChecksumIEEE(want.bad[j].text) {
				text := how + fmt.Sprintf("bad record %d of %d, want %d", j+1, len(got.rejects), len(want.bad))
				if j < len(got.rejects) {
					text += fmt.Sprintf("\n%+v", got.rejects[j])
				}
				if j < len(want.bad) {
					text += fmt.Sprintf("\nat %d %q, of %d bytes more", want.bad[j].at, want.bad[j].text, len(x.text)-want.bad[j].at-len(want.bad[j].text))
				}
				return text
			}
		}
	}
	return ""
}
