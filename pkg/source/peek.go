package source

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"bulkload/internal/formats/compression"
	"bulkload/pkg/source/listing"
)

// A Head is the beginning of a file, for detecting its format before it is read. It belongs to one goroutine.
type Head struct {
	file *inputFile
	opts Options
}

// Heads lists the files of one input, as [Open] does, and opens none.
func Heads(ctx context.Context, resolve Resolve, input string, o Options) ([]*Head, []LeftOut, error) {
	o = o.withDefaults()
	files, left, err := listing.List(ctx, resolve, []string{input}, o.listing())
	if err != nil {
		return nil, nil, err
	}
	heads := make([]*Head, len(files))
	for i, f := range files {
		heads[i] = &Head{newFile(*f), o}
	}
	return heads, left, nil
}

// Info describes the file, with the format and compression that Look has found.
func (h *Head) Info() FileInfo { return h.file.describe() }

// Partitions returns the columns of the file from its path.
func (h *Head) Partitions() []Partition {
	return slices.Clone(h.file.Partitions)
}

// Look determines the compression, and the format if the name or the first bytes show it. Text that is cut at separators is FormatAuto, or FormatCSV
// if its name says so. If the format always names columns, Look reads the names. It rejects files that cannot be read, with the error that [Open] has
// for them.
func (h *Head) Look(ctx context.Context) error {
	f, o := h.file, &h.opts
	if f.table() != nil {
		return fmt.Errorf("%s is a part of a table, which does not say what columns its rows have: name them in a job file", f.Path)
	}
	head, err := f.identify(ctx, o)
	if err != nil {
		return err
	}
	if f.kind == nil {
		f.nameText()
	}
	k, err := f.begins(ctx, head, o)
	if err != nil {
		return err
	}
	if k != nil && (f.kind == nil || f.facts.Text) {
		f.become(k)
	} else if f.kind == nil {
		if k := o.looks(head); !k.facts().Text {
			f.become(k)
		}
	}
	if f.kind == nil || f.facts.Text || f.facts.Described {
		return nil
	}
	return f.examine(ctx, head, o)
}

// nameText sets the format of text that the file's name shows: with a dialect, names determine no format, but say what is likely.
func (f *inputFile) nameText() {
	name, _ := compression.Cut(strings.ToLower(path.Base(f.Name)))
	if k := new(Options).ends(name); k != nil && k.facts().Text {
		f.become(k)
	}
}

// Columns returns the names in the schema, or in the first lines of JSON.
func (h *Head) Columns() []string { return h.file.columns }

// Leads reports whether a path leads into a nested column to a possible column. It is for files of Parquet and Avro, after [Head.Look].
func (h *Head) Leads(path string) bool {
	c, ok := h.file.content.(interface{ leads(path string) bool })
	return ok && c.leads(path)
}

// Text returns the beginning of the text, unpacked, of at most limit bytes. whole says that it is the whole text. A limit below 0 is 0.
func (h *Head) Text(ctx context.Context, limit int) (text []byte, whole bool, err error) {
	limit = min(max(limit, 0), math.MaxInt-1)
	text, err = h.file.beginning(ctx, int64(limit)+1)
	if len(text) > limit {
		return text[:limit], false, err
	}
	return text, true, err
}
