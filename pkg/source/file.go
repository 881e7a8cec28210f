package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/compression"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/sniff"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/listing"
)

// inputFile is one file with the facts determined when the input was opened.
type inputFile struct {
	listing.File

	format      Format
	kind        format   // nil: not known yet
	facts       *facts   // of the format, one copy for many files
	content     content  // the result of the format's probe
	compression string   // "" or the name of a [compression.Codec]
	columns     []string // in the file's order; nil: the file does not name them
	cols        int
	order       []int            // the position in the file of each column of the schema, or a code if it has none; nil: the same order
	missing     []string         // columns of the schema that the file lacks
	ignored     []string         // its columns that are not in the schema
	others      []string         // columns whose type has no text, and that were not requested
	dataStart   int64            // text: where the first record after byte order mark and header begins, unpacked
	headSum     uint32           // of the header, or of the schema
	window      int64            // packed: the window size that the first frame requires
	mostWindow  uint64           // packed: the window size that any frame may require
	left        int64            // bytes at the end that are not records
	first       bool             // of all files
	headed      bool             // text: its first record was its header
	blank       bool             // text: it has no records
	record      []string         // header first: the values of its first record, until the schema is known
	values      int              // text without a header: the values of its first record; 0 if that is not known
	short       bool             // text without a header: its records have the first columns only
	charset     *charset.Charset // of text; nil: bytes are used unchanged
	transcoded  bool             // the text is decoded as a whole
	dialect     *dialect.Dialect // of text; nil: CSV or a dump as set by the options
	firstSplit  int
	opts        *Options        // of a reject file
	rejects     *rejects.Form   // of a reject file that is an input
	form        *rejects.Form   // of this file's own bad records
	sections    []rejectSection // of a reject file whose records had columns by their path
}

func newFile(f listing.File) *inputFile { return &inputFile{File: f, facts: new(facts)} }

// detectSize is the number of bytes from which a file's format is detected.
const detectSize = 64 << 10

// errRejects is the error of a reject file that is not read with its format.
var errRejects = setting.Errorf("it is a file of bad records of an earlier job: its records are read with %s rejects", setting.Format)

var bom = []byte(sniff.BOM)

// probe determines the file's format and compression, its columns, and where its records begin.
func (f *inputFile) probe(ctx context.Context, o *Options) error {
	if f.Info.IsDir() {
		return fmt.Errorf("%s: it is a directory", f.Path)
	}
	if f.table() != nil {
		f.become(o.formatOf(FormatTable))
		return f.found(f.kind.probe(ctx, f, nil, o))
	}
	if k := o.formatOf(o.Format); k != nil && k.facts().Described {
		f.become(k)
		return f.found(k.probe(ctx, f, nil, o))
	}
	head, err := f.identify(ctx, o)
	if err != nil {
		return err
	}
	if f.kind == nil {
		f.become(o.looks(head))
		k, err := f.begins(ctx, head, o)
		if err != nil {
			return err
		}
		if k != nil {
			f.become(k)
		}
	}
	return f.examine(ctx, head, o)
}

// examine lets the format probe the file, unless its text shows another format.
func (f *inputFile) examine(ctx context.Context, head []byte, o *Options) error {
	if !f.facts.binary {
		if err := f.checkText(head, o); err != nil {
			return err
		}
		if k, err := f.begins(ctx, head, o); err != nil {
			return err
		} else if k != nil && k.facts().ending != nil && !f.facts.raw {
			return setting.Errorf("%s begins and ends as a file of %s: give %s %s", f.Path, strings.ToUpper(string(k.name)), setting.Format, k.name)
		}
	}
	return f.found(f.kind.probe(ctx, f, head, o))
}

// found stores the result of a format's probe.
func (f *inputFile) found(c content, err error) error {
	f.content = c
	return err
}

// identify determines the compression, and the format as far as the options and the file's name determine it; it reads the beginning of
// text. It rejects files that cannot be read.
func (f *inputFile) identify(ctx context.Context, o *Options) (head []byte, err error) {
	if k := o.formatOf(o.Format); k != nil {
		f.become(k)
	}
	name := strings.ToLower(path.Base(f.Name))
	if f.kind == nil {
		if err := f.foreign(sniff.ForeignName(name)); err != nil {
			return nil, err
		}
	}
	name, f.compression = compression.Cut(name)
	if f.kind == nil {
		if err := f.foreign(sniff.ForeignName(name)); err != nil {
			return nil, err
		}
		if k := o.ends(name); k != nil {
			f.become(k)
		}
	}
	if f.facts.binary {
		return nil, nil
	}
	if head, err = f.head(ctx, o); err != nil {
		return nil, err
	}
	if f.compression == "" {
		if f.compression, err = f.packedAs(ctx, head); err != nil {
			return nil, err
		}
		if f.compression != "" {
			if head, err = f.head(ctx, o); err != nil {
				return nil, err
			}
		}
	}
	if inner := compression.Begins(head); f.compression != "" && inner != "" {
		return nil, listing.Refuse("%s is compressed twice (%s within %s): unpack it once", f.Path, inner, f.compression)
	}
	if !f.facts.raw {
		err = f.foreignContent(name, head)
	}
	return head, err
}

// packedAs returns the compression that the first bytes of a file show.
func (f *inputFile) packedAs(ctx context.Context, head []byte) (_ string, err error) {
	if !compression.Skippable(head) {
		return compression.Begins(head), nil
	}
	file, raw, err := f.Open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return compression.FirstFrame(raw, f.Info.Size())
}

// whichSep advises to give the record separator of a file that has another one.
func whichSep() setting.Text {
	return setting.Textf(`give %s '\n' for text of Hive, or the separator of the export`, setting.RecordSep)
}

// sepSeen records whether a separator was found.
type sepSeen int

const (
	sepNone     sepSeen = iota // it does not occur in the file
	sepFound                   // it occurs
	sepTooLate                 // it does not occur within the greatest record length: reading reports that
	sepLineFeed                // it does not occur, and the file ends with a line feed
)

func (f *inputFile) seek(ctx context.Context, record byte, o *Options) (_ sepSeen, err error) {
	src, err := f.openText(ctx, 0)
	if err != nil {
		return sepNone, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	buf := make([]byte, detectSize)
	seen := sepNone
	for size := 0; size <= o.MaxRecord; {
		n, err := src.Read(buf)
		if bytes.IndexByte(buf[:n], record) >= 0 {
			return sepFound, nil
		}
		if size += n; n > 0 {
			seen = sepNone
			if buf[n-1] == '\n' {
				seen = sepLineFeed
			}
		}
		if err == io.EOF {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
	}
	return sepTooLate, nil
}

// probeDump checks that a file can be a dump: a file that was given as a dump, and has no record separator at all, may be one record. A
// line feed at its end shows that it is other text, which would be one record as a whole.
func (f *inputFile) probeDump(ctx context.Context, head []byte, o *Options) error {
	field, record := o.dumpSeps()
	seen := sepFound
	if len(head) > 0 && bytes.IndexByte(head, record) < 0 && (o.Format == FormatAuto || len(o.Columns) > 0) {
		var err error
		if seen, err = f.seek(ctx, record, o); err != nil {
			return err
		}
	}
	switch {
	case o.Format == FormatAuto && (seen == sepNone || seen == sepLineFeed):
		return setting.Errorf("%s: its columns are separated by %s, but no record ends with %s: %s; %s dump reads a dump of one record", f.Path, SepOf(field), SepOf(record), whichSep(), setting.Format)
	case len(o.Columns) == 0:
		return fmt.Errorf("%s: %w", f.Path, errNoColumns)
	case seen == sepLineFeed:
		return f.errLineFeed(SepOf(record).String())
	}
	first, _, whole := bytes.Cut(head, []byte{record})
	if len(first) == 0 || !whole && len(head) == detectSize {
		return nil
	}
	var values []string
	for v := range bytes.SplitSeq(first, []byte{field}) {
		values = append(values, string(v))
	}
	return f.firstValues(values, o)
}

// control reports whether a byte does not occur in the text of a CSV file.
func control(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' }

// textEnd returns where the text ends, which is unknown for a packed file.
func (f *inputFile) textEnd() int64 {
	if f.sequential() {
		return math.MaxInt64
	}
	return f.size()
}

// size returns the length of an unpacked file, without the bytes ignored at its end.
func (f *inputFile) size() int64 { return f.Info.Size() - f.left }

// columnName returns the name of a column by its position in the file, "" if there is none.
func (f *inputFile) columnName(i int) string {
	if 0 <= i && i < len(f.columns) {
		return f.columns[i]
	}
	return ""
}

// head reads the first bytes of the text.
func (f *inputFile) head(ctx context.Context, o *Options) (_ []byte, err error) {
	if f.compression != "" {
		if err := f.probePacked(ctx, o); err != nil {
			return nil, err
		}
	}
	return f.beginning(ctx, detectSize)
}

// beginning reads at most size bytes of the text.
func (f *inputFile) beginning(ctx context.Context, size int64) (text []byte, err error) {
	src, err := f.openText(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return io.ReadAll(io.LimitReader(src, size))
}

// checkText rejects texts of unsupported formats, by their first bytes.
func (f *inputFile) checkText(head []byte, o *Options) error {
	asked := o.Format == f.format && f.facts.raw // all bytes are data
	if !asked && bytes.HasPrefix(head, []byte(rejects.Magic)) {
		return fmt.Errorf("%s: %w", f.Path, errRejects)
	}
	if f.facts.charset != nil && f.facts.charset(o) != "" {
		return nil
	}
	mark := bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
	if !f.facts.raw && sniff.Wide(head) || mark && !asked {
		return fmt.Errorf("%s: %w", f.Path, sniff.ErrUTF16)
	}
	return nil
}

// foreign rejects a file of an unsupported format.
func (f *inputFile) foreign(k *sniff.Foreign) error {
	if k == nil {
		return nil
	}
	return listing.Refuse("%s", k.Text(f.Path))
}

// foreignContent rejects a file whose content, or unpacked content, begins like an unsupported format, or whose name shows one if its format
// is not given.
func (f *inputFile) foreignContent(name string, head []byte) error {
	k := sniff.ForeignContent(head)
	if k == nil && f.format == FormatAuto {
		k = sniff.ForeignStatements(name)
	}
	return f.foreign(k)
}

// tail returns the last four bytes of an unpacked file.
func (f *inputFile) tail(ctx context.Context) (_ []byte, err error) {
	if f.compression != "" || f.Info.Size() < 4 {
		return nil, nil
	}
	file, raw, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tail := make([]byte, 4)
	_, err = raw.ReadAt(tail, f.Info.Size()-4)
	return tail, ignoreEOF(err)
}
