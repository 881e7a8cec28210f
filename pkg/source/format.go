package source

import (
	"context"
	"slices"
	"strings"
)

// A format is a form of input files: how its files are known, and what is in one of them. All formats are in the registry
// (formats.go); nothing else depends on which one a file has. A format has no state.
type format interface {
	// facts are true of all its files.
	facts() facts
	// check finds options that do not go with the format, which they ask for.
	check(o *Options) error
	// probe finds the columns of a file and where its records begin. head is the beginning of its text; nil where that is not read.
	probe(ctx context.Context, f *inputFile, head []byte, o *Options) (content, error)
	// reader returns the reader of such files' splits for a [Reader]. It keeps its buffers from split to split.
	reader(r *Reader) splitReader
}

// content is the result of a format's probe of a file.
type content interface {
	// offer sees which columns the file can have, where some are wanted. first names where these are from.
	offer(wanted []string, first string, o *Options) error
	// plan decides what is read of the file, whose columns were found in the schema.
	plan(schema []string, o *Options) error
	// splits cuts the file, unless it is packed. They depend on the file and the options only.
	splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error
	// memory is about how many bytes a reader comes to hold, in addition to a chunk and its spans.
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

// facts has the properties of all files of a format.
type facts struct {
	Traits
	help    string   // what it is, for lists of formats; empty: its name
	endings []string // of names, in lower case
	hidden  bool     // no setting asks for it
	binary  bool     // its files are no text: they have no character set, and are not packed as a whole
	magic   []string // how its files begin, one of these
	// ending says, by the beginning of a file and its last four bytes, that it is of the format, where text can begin so too; nil: none can.
	ending func(head, tail []byte) bool
	// looks says that text can be of the format by how it begins. Of several formats, the last one counts.
	looks func(head []byte, o *Options) bool
	// charset is the character set that the options give text of the format.
	charset func(o *Options) string
	values  bool // a record has no text of its own: its values stand for it, as a line of CSV
	raw     bool // each byte that does not separate is data
	cut     bool // records are cut at separators, so that files which were put together can be seen
	loose   bool // a split begins anywhere, and its first record after the next separator
}

// Traits has the properties of a format that other packages need.
type Traits struct {
	// Dialect is the preset of the dialect in which the format is, if it is text in one.
	Dialect string
	// Text says that a [dialect.Dialect] can describe its files.
	Text bool
	// Named says that its files have the names of their columns for certain, and that a value can be NULL.
	Named bool
	// Open says that its records name their columns: later ones may have others than the first.
	Open bool
	// Rows says that [Split.Start], [Split.End] and [Batch.Offsets] count rows, that a file says how many it has, and that a split is a
	// group of them.
	Rows bool
	// Blocks says that [Batch.Offsets] count the records of the blocks of a split.
	Blocks bool
	// Table says that its files are parts of a [Table].
	Table bool
	// Described says that its files say how their records are written.
	Described bool
	// Header says that a setting decides whether its files have one.
	Header bool
	// FieldSep and RecordSep are the default separators, where settings have others.
	FieldSep, RecordSep Sep
	// Charset says that a setting of its own has the character set.
	Charset bool
}

// Traits returns the traits of a format; none of one that is not known.
func (f Format) Traits() Traits {
	for _, k := range formats() {
		if k.name == f {
			return k.facts().Traits
		}
	}
	return Traits{}
}

// Formats returns the formats that a setting can ask for. help is a list of them for a person.
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

// become notes which format a file has.
func (f *inputFile) become(k *registered) {
	f.format, f.kind, f.facts = k.name, k.format, k.facts()
}

// formatOf returns one of the formats by its name, nil if there is none.
func (o *Options) formatOf(name Format) *registered {
	return o.find(func(k *registered) bool { return k.name == name })
}

// ends returns the format of a name, in lower case and without the ending of a compression; nil if it does not say one.
func (o *Options) ends(name string) *registered {
	return o.such(func(f *facts) bool { return f.ends(name, o) })
}

// begins returns the format whose files begin as the file does, nil if it is none.
func (f *inputFile) begins(ctx context.Context, head []byte, o *Options) (*registered, error) {
	k := o.such(func(f *facts) bool { return f.begins(head) })
	if k == nil || k.facts().ending == nil {
		return k, nil
	}
	tail, err := f.tail(ctx)
	if err != nil || !k.facts().ending(head, tail) {
		return nil, err
	}
	return k, nil
}

// looks returns the format that text which begins so is likely to have.
func (o *Options) looks(head []byte) *registered {
	return o.such(func(f *facts) bool { return f.looks != nil && f.looks(head, o) })
}

// such returns the last format of such facts, and find the last that is one of those.
func (o *Options) such(facts func(f *facts) bool) *registered {
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

// headed says that text of the format can have a header.
func (f *facts) headed() bool { return f.cut && !f.raw }

// begins says that a file begins as those of the format do.
func (f *facts) begins(head []byte) bool {
	return slices.ContainsFunc(f.magic, func(m string) bool { return strings.HasPrefix(string(head[:min(len(head), len(m))]), m) })
}

// ends says that a name, in lower case, is one of the format's. With a dialect, it does not say which text a file has.
func (f *facts) ends(name string, o *Options) bool {
	said := o.Dialect == nil || f.binary || f.charset != nil && f.charset(o) != ""
	return said && slices.ContainsFunc(f.endings, func(end string) bool { return strings.HasSuffix(name, end) })
}
