package source

import (
	"context"
	"slices"
	"strings"

	"bulkload/internal/formats/compression"
)

// A format is a format of input files: how to recognize its files and read them. All formats are in the registry ([formats]); no other
// code depends on a file's format. A format has no state.
type format interface {
	// facts returns the properties of all its files.
	facts() facts
	// check reports options that the format does not support.
	check(o *Options) error
	// probe finds the columns of a file and where its records begin. head is the beginning of its text; nil if that is not read.
	probe(ctx context.Context, f *inputFile, head []byte, o *Options) (content, error)
	// reader returns the format's reader of splits for a [Reader]. It keeps its buffers from split to split.
	reader(r *Reader) splitReader
}

// content is the result of a format's probe of a file.
type content interface {
	// offer checks the file's possible columns against the wanted ones. first names the origin of those.
	offer(wanted []string, first string, o *Options) error
	// plan decides how to read the file, after its columns were matched with the schema.
	plan(schema []string, o *Options) error
	// splits cuts the file, unless it is packed. The splits depend only on the file and the options.
	splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error
	// memory returns the approximate size of a reader's buffers, in addition to a chunk and its spans.
	memory(o *Options) int64
}

// splitReader reads splits of one format.
type splitReader interface {
	read(s Split) error
}

// registered is a format with its name.
type registered struct {
	name Format
	format
}

// facts holds the properties of all files of a format.
type facts struct {
	Traits
	help    string   // a description, for lists of formats; empty: its name
	endings []string // of names, in lower case
	hidden  bool     // no setting selects it
	binary  bool     // its files are not text: they have no character set, and are not packed as a whole
	magic   []string // the possible first bytes of its files
	// ending recognizes the format by the beginning of a file and its last four bytes, if text can begin in the same way; nil: none can.
	ending func(head, tail []byte) bool
	// looks reports whether the beginning of a text suggests the format. Of several formats, the last one counts.
	looks func(head []byte, o *Options) bool
	// charset returns the character set that the options set for text of the format.
	charset func(o *Options) string
	values  bool // a record has no text of its own: a line of CSV of its values replaces it
	raw     bool // each byte that is not a separator is data
	cut     bool // records are cut at separators, so concatenated files can be detected
	loose   bool // a split begins anywhere, and its first record after the next separator
}

// Traits holds the properties of a format that other packages need.
type Traits struct {
	// Dialect is the preset of the format's dialect, if it is text in one.
	Dialect string
	// Text says that a [dialect.Dialect] can describe its files.
	Text bool
	// Named says that its files always name their columns, and that a value can be NULL.
	Named bool
	// Open says that its records name their columns: later records may have other columns than the first.
	Open bool
	// Rows says that [Split.Start], [Split.End] and [Batch.Offsets] count rows, that a file stores its number of rows, and that a split is
	// a group of them.
	Rows bool
	// Blocks says that [Batch.Offsets] count the records of the blocks of a split.
	Blocks bool
	// Table says that its files are parts of a [Table].
	Table bool
	// Described says that its files describe the format of their records.
	Described bool
	// Header says that a setting determines whether its files have a header.
	Header bool
	// FieldSep and RecordSep are the default separators, if settings can change them.
	FieldSep, RecordSep Sep
	// Charset says that the format has its own setting for the character set.
	Charset bool
}

// Traits returns the traits of a format; zero traits for an unknown one.
func (f Format) Traits() Traits {
	for _, k := range formats() {
		if k.name == f {
			return k.facts().Traits
		}
	}
	return Traits{}
}

// Formats returns the formats that a setting can select. help is a readable list of them.
func Formats() (names []string, help string) {
	var texts []string
	for _, k := range formats() {
		if f := k.facts(); !f.hidden {
			names = append(names, string(k.name))
			texts = append(texts, strings.TrimSpace(string(k.name)+" "+f.help))
		}
	}
	last := len(texts) - 1
	return names, strings.Join(texts[:last], ", ") + ", or " + texts[last]
}

// formats returns all formats, in the order of the documentation. A new format is one more line here.
func formats() []registered {
	return []registered{
		{FormatCSV, csvFormat{}},
		{FormatDump, dumpFormat{}},
		{FormatParquet, parquetFormat{}},
		{FormatORC, orcFormat{}},
		{FormatJSON, jsonFormat{}},
		{FormatAvro, avroFormat{}},
		{FormatText, textFormat{}},
		{FormatFixed, fixedFormat{}},
		{FormatRejects, rejectFormat{}},
		{FormatTable, tableParts{}},
	}
}

func (f *inputFile) become(k *registered) {
	known := k.facts()
	f.format, f.kind, f.facts = k.name, k.format, &known
}

// Packed reports whether a file has more text than bytes, by the ending of its name: it is compressed, or of a binary format.
func Packed(name string) bool {
	name, packed := compression.Cut(strings.ToLower(name))
	return packed != "" || slices.ContainsFunc(formats(), func(k registered) bool {
		f := k.facts()
		return f.binary && f.ends(name, &Options{})
	})
}

// formatOf returns a format by its name, nil if there is none.
func (o *Options) formatOf(name Format) *registered {
	return o.find(func(k *registered) bool { return k.name == name })
}

// ends returns the format of a name, in lower case and without the ending of a compression; nil if the name shows none.
func (o *Options) ends(name string) *registered {
	return o.lastFormat(func(f *facts) bool { return f.ends(name, o) })
}

// begins returns the format that the file's first bytes show, nil if there is none.
func (f *inputFile) begins(ctx context.Context, head []byte, o *Options) (*registered, error) {
	k := o.lastFormat(func(f *facts) bool { return f.begins(head) })
	if k == nil || k.facts().ending == nil {
		return k, nil
	}
	tail, err := f.tail(ctx)
	if err != nil || !k.facts().ending(head, tail) {
		return nil, err
	}
	return k, nil
}

// looks returns the format that text with this beginning probably has.
func (o *Options) looks(head []byte) *registered {
	return o.lastFormat(func(f *facts) bool { return f.looks != nil && f.looks(head, o) })
}

// lastFormat returns the last format whose facts match, and find the last match in a list.
func (o *Options) lastFormat(facts func(f *facts) bool) *registered {
	return o.find(func(k *registered) bool { f := k.facts(); return facts(&f) })
}

func (o *Options) find(is func(k *registered) bool) *registered {
	for _, k := range slices.Backward(o.formats()) {
		if is(&k) {
			return &k
		}
	}
	return nil
}

// headed reports whether text of the format can have a header.
func (f *facts) headed() bool { return f.cut && !f.raw }

// begins reports whether a file begins like those of the format.
func (f *facts) begins(head []byte) bool {
	return slices.ContainsFunc(f.magic, func(m string) bool { return strings.HasPrefix(string(head[:min(len(head), len(m))]), m) })
}

// ends reports whether a name, in lower case, is one of the format's. With a dialect, a name does not determine the format of text.
func (f *facts) ends(name string, o *Options) bool {
	said := o.Dialect == nil || f.binary || f.charset != nil && f.charset(o) != ""
	return said && slices.ContainsFunc(f.endings, func(end string) bool { return strings.HasSuffix(name, end) })
}
