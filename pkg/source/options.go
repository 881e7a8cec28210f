package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/listing"
)

// Format is the format of an input file, without its compression.
type Format string

// The formats. FormatAuto uses the file's name and, if that is not enough, its first bytes.
const (
	FormatAuto    Format = ""
	FormatCSV     Format = "csv"
	FormatDump    Format = "dump"
	FormatParquet Format = "parquet"
	FormatORC     Format = "orc"
	FormatJSON    Format = "json" // lines of JSON, one object each
	FormatAvro    Format = "avro" // object container files
	// FormatTable is a part of a [Table]. It describes files, and cannot be selected.
	FormatTable Format = "table"
	// FormatText is text of [Options.Dialect].
	FormatText Format = "text"
	// FormatFixed is text of fixed columns, described by [Options.Dialect].
	FormatFixed Format = "fixed"
	// FormatRejects is a [RejectFile]: its records are read in their original format, which its first line describes.
	FormatRejects Format = "rejects"
)

// HeaderMode reports whether CSV files name their columns.
type HeaderMode int

// The first record of a CSV file is its header, or it is data and [Options.Columns] has the names.
const (
	HeaderFirst HeaderMode = iota
	HeaderNone
)

// Options control how inputs are read. The zero value reads CSV with a header, JSON lines, Parquet, ORC and Avro; dumps need Columns.
type Options struct {
	// Format of all inputs. Default: detected for each file.
	Format Format
	// Dialect is the dialect of text, whatever the file's name. Default: CSV or a dump, with the separators and the header below. It is
	// checked and not changed.
	Dialect *dialect.Dialect
	// Charset is the character set of JSON lines; other text has that of its dialect. Given together with Dialect, files are read as JSON
	// lines as if there were no dialect. Default: UTF-8.
	Charset string
	// FieldSep is the byte between two columns. Default: 0x01 in dumps, a comma in CSV.
	FieldSep Sep
	// RecordSep is the byte after each record of a dump. Default: 0x10. CSV records end with LF or CR LF.
	RecordSep Sep
	// Columns are the names of the columns in the order of batches. A dump and a CSV file without header hold exactly these, in this order. A CSV
	// header and the schemas of other formats have these names, in any order; Extra and Missing allow differences. In JSON and Avro a name may also
	// be the path of a nested value, such as addr.city. Default: the names of the first file with names; all other files must have the same.
	Columns []string
	// Named are required columns, which are read from tables if Columns are not given: tables do not list their columns.
	Named []string
	// IfEmpty are the columns if no file names any, because none has a record. Default: none.
	IfEmpty []string
	// Extra determines how columns are handled that are not among Columns, or those of the first file. Default: they are an error, except
	// that in Parquet and Avro files they are not read if Columns are given. Members of JSON lines that were not requested are never an
	// error: ExtraFail is rejected.
	Extra Extra
	// Missing determines how a column that a file lacks is handled. Default: it is an error; a JSON line lacks no column, as an absent
	// member is NULL. Text without a header lacks the last Columns if its first record has fewer values, but at least two; in the dialects
	// of Hive these are NULL by default. With MissingNull and without Columns, and unless Extra is ExtraIgnore, the columns are those of
	// all files.
	Missing Missing
	// Partitions determines whether directories name=value on the path of a file, below the input and above it, are columns. Default, and
	// with PartitionsAuto alone: each is a column of the file, of that name, with one value as text in all its records. With PartitionsOff
	// alone none is. Otherwise these are the columns, in this order: the last such directories of every file's path must have these names,
	// and those above them are ignored.
	Partitions []string
	// Where chooses partitions, such as dt>=2026-11-01; all conditions must hold. Values are compared as text. Directories that
	// cannot match are not listed. Default: all.
	Where []string
	// Header reports whether CSV files have a header. Default: they do.
	Header HeaderMode
	// SplitSize is the length in bytes of one split of an uncompressed text file, or of an Avro file. Default 8 MiB: small compared with a core's
	// share of a file, so that cores finish together, and large compared with the cost of opening it once more.
	SplitSize int64
	// Splits are the splits that an earlier Open of the same files with the same options has found; text is then not read to find them.
	// Default: they are determined.
	Splits []Split
	// ChunkSize is the number of bytes that are read and parsed at a time, and about the size of a batch's data. It grows for longer
	// records. Default 512 KiB, which fits in a core's cache together with the parsed fields.
	ChunkSize int
	// MaxRecord is the greatest length of a record in bytes. A longer one ends the reading: most likely a quote or a
	// separator is missing. Default 64 MiB, at most 1 GiB.
	MaxRecord int
	// Memory limits the size of the buffers of a [Reader]: an object that needs more, such as a page of a Parquet file, a block of an Avro
	// file or the window of a zstd file, is a [MemoryError]. Records of text that need more are read one at a time. Default: no limit.
	Memory int64
	// Location is the time zone for the text form of Parquet and Avro timestamps that are adjusted to UTC (INT96 too). Default UTC.
	Location *time.Location
	// AllowEmpty accepts inputs without data: files of 0 bytes, and directories and patterns with no others. Default: each input must lead
	// to a file that is not empty.
	AllowEmpty bool
	// Reject gets a bad record, which is then skipped; an error that it returns ends the reading. All readers call it concurrently.
	// Default: every bad record is an error.
	Reject func(RowError) error
	// Scanned gets the numbers of bytes that Open reads to find where the records of a text begin, while it reads them. Several goroutines call it.
	// Default: they are not reported.
	Scanned func(bytes int64)

	more []registered // in addition to those of the registry
}

// formats returns the formats that inputs can have.
func (o *Options) formats() []registered { return append(formats(), o.more...) }

const (
	defaultSplitSize = 8 << 20
	defaultChunkSize = 512 << 10
	defaultMaxRecord = 64 << 20
	maxMaxRecord     = 1 << 30 // spans have 32 bits, and a chunk may hold a record twice
)

func (o Options) withDefaults() Options {
	o.SplitSize = cmp.Or(o.SplitSize, defaultSplitSize)
	o.ChunkSize = cmp.Or(o.ChunkSize, defaultChunkSize)
	o.MaxRecord = cmp.Or(o.MaxRecord, defaultMaxRecord)
	if o.Format.Traits().Text && o.Dialect.Fixed() {
		o.Format = FormatFixed
	}
	o.ChunkSize = min(o.ChunkSize, o.MaxRecord) // or a longer record could slip through
	o.Location = cmp.Or(o.Location, time.UTC)
	return o
}

// Validate reports options that contradict each other.
func (o Options) Validate() error {
	if err := o.checkFormat(); err != nil {
		return err
	}
	if !slices.Contains([]Extra{"", ExtraFail, ExtraIgnore}, o.Extra) || !slices.Contains([]Missing{"", MissingFail, MissingNull}, o.Missing) {
		return fmt.Errorf("extra %q is not fail or ignore, or missing %q is not fail or null", o.Extra, o.Missing)
	}
	if err := o.checkDialect(); err != nil {
		return err
	}
	if o.Charset != "" {
		if _, err := charset.Lookup(o.Charset); err != nil {
			return err
		}
	}
	if o.SplitSize < 0 || o.ChunkSize < 0 || o.MaxRecord < 0 {
		return errors.New("split size, chunk size and longest record must not be negative")
	}
	if o.MaxRecord > maxMaxRecord || o.ChunkSize > maxMaxRecord {
		return fmt.Errorf("the longest record and the chunk size must not be above %s", setting.Count(maxMaxRecord, "byte"))
	}
	lines := !o.RecordSep.set && o.Format != FormatAuto && o.Format.Traits().RecordSep == (Sep{})
	if f, r := o.dumpSeps(); f == r && !lines {
		return fmt.Errorf("field and record separator are the same byte %s", SepOf(f))
	}
	if err := o.listing().Check(); err != nil {
		return err
	}
	if err := valuetext.CheckNames(o.Columns); err != nil {
		return err
	}
	if o.Header != HeaderFirst && o.Header != HeaderNone {
		return fmt.Errorf("header mode %d is not known", o.Header)
	}
	return nil
}

// checkFormat reports an unknown format, and options that do not apply to it.
func (o Options) checkFormat() error {
	if o.Format == FormatAuto {
		return nil
	}
	var names []string
	for _, k := range o.formats() {
		switch f := k.facts(); {
		case f.Table:
		case k.name == o.Format:
			return k.check(&o)
		default:
			names = append(names, string(k.name))
		}
	}
	last := len(names) - 1
	return fmt.Errorf("format %q is not known: it is %s or %s", o.Format, strings.Join(names[:last], ", "), names[last])
}

func (o Options) checkDialect() error {
	d := o.Dialect
	switch {
	case d == nil:
		return nil
	case o.FieldSep != Sep{} || o.RecordSep != Sep{} || o.Header != HeaderFirst:
		return errors.New("separators and header are the dialect's")
	case d.Header == dialect.HeaderMatch && len(o.Columns) == 0:
		return errors.New("a header is compared with the names of the columns: give them")
	}
	return d.Check()
}

// ErrNoHeader is matched by errors about text without names of columns, if none are given.
var ErrNoHeader = setting.Errorf("text without a header needs the names of its columns: give %s", setting.Columns)

var errNoColumns = setting.Errorf("a dump: %w", ErrNoHeader)

func (o Options) dumpSeps() (field, record byte) {
	return o.FieldSep.or(0x01), o.RecordSep.or(0x10)
}

// separates says that a byte is a separator of a dump, and seenSeps which of them are in text: the first as far as it cannot be in CSV.
func (o *Options) separates(b byte) bool {
	field, record := o.dumpSeps()
	return field == b || record == b
}

func (o *Options) seenSeps(text []byte) (field, record bool) {
	f, r := o.dumpSeps()
	return control(f) && bytes.IndexByte(text, f) >= 0, bytes.IndexByte(text, r) >= 0
}

// listing returns the options that select files.
func (o *Options) listing() *listing.Options {
	return &listing.Options{Partitions: o.Partitions, Where: o.Where, AllowEmpty: o.AllowEmpty, Described: o.Format.Traits().Described}
}

// Sep is a one-byte separator. Its zero value means the default of its setting; the byte 0x00 is SepOf(0).
type Sep struct {
	value byte
	set   bool
}

// SepOf returns the separator b.
func SepOf(b byte) Sep { return Sep{value: b, set: true} }

// or returns the byte, or def if none was set.
func (s Sep) or(def byte) byte {
	if s.set {
		return s.value
	}
	return def
}

// ParseSep parses a separator in the form that users write: one ASCII character (","), an escape ("\t", "\x01"), a number ("0x01"), or ""
// for the default.
func ParseSep(text string) (Sep, error) {
	if text == "" {
		return Sep{}, nil
	}
	if len(text) == 1 {
		return SepOf(text[0]), nil
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		if n, err := strconv.ParseUint(rest, 16, 8); err == nil {
			return SepOf(byte(n)), nil
		}
	} else if text[0] == '\\' {
		if c, _, tail, err := strconv.UnquoteChar(text, 0); err == nil && tail == "" && c < 0x100 {
			return SepOf(byte(c)), nil
		}
	}
	return Sep{}, fmt.Errorf("separator %q is not one byte: write it as , or \\t or \\x01 or 0x01", text)
}

// String returns the form that [ParseSep] reads.
func (s Sep) String() string {
	switch {
	case !s.set:
		return ""
	case s.value > ' ' && s.value < 0x7f && s.value != '\\':
		return string(rune(s.value))
	default:
		return fmt.Sprintf("0x%02x", s.value)
	}
}

// MarshalText implements [encoding.TextMarshaler].
func (s Sep) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Sep) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSep(string(text))
	return err
}
