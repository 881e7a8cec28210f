package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/jsonlines"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/sniff"
	"bulkload/internal/formats/splits"
	"bulkload/pkg/setting"
)

// jsonFormat is JSON lines.
type jsonFormat struct{}

func (jsonFormat) facts() facts {
	charset := func(o *Options) string { return o.Charset }
	return facts{Traits: Traits{Named: true, Open: true, Charset: true}, help: "(lines)", endings: []string{".jsonl", ".ndjson", ".json"}, charset: charset,
		looks: func(head []byte, o *Options) bool {
			field, record := o.seenSeps(head)
			return (o.Charset != "" || o.Dialect == nil && !field && !record) && sniff.BeginsObject(head)
		}}
}

func (jsonFormat) check(o *Options) error { return o.noDialect("has no dialects") }

func (jsonFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	c := &jsonText{textFile: textFile{f}}
	return c, c.probe(ctx, o)
}

func (jsonFormat) text(f *inputFile) textForm { return &jsonText{textFile: textFile{f}} }

func (jsonFormat) marks(*inputFile, Sep, Sep) rejects.Marks { return rejects.Marks{End: "\n"} }

// jsonText is a file of JSON lines.
type jsonText struct {
	textFile
	seen   []string        // the paths in the first lines
	wanted *jsonlines.Plan // the values of a line that are read
}

func (j *jsonText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	places, err := splits.Lines(ctx, j.f.toCut(o), o.MaxRecord, lineStart)
	return cutAt(add, places, err)
}

func (j *jsonText) settings(*Options) string {
	if j.f.charset == nil {
		return ""
	}
	return "charset=" + j.f.charset.Name()
}

func (j *jsonText) rejectForm(*Options) *rejects.Form {
	form := &rejects.Form{Version: 1, Format: string(FormatJSON), Columns: j.f.columns}
	if j.f.charset != nil && !j.f.transcoded {
		form.Charset = j.f.charset.Name()
	}
	return form
}

// probe finds the paths in the first lines of a file: in 1000 lines, or 64 KiB, and at least in one.
func (j *jsonText) probe(ctx context.Context, o *Options) error {
	f := j.f
	if err := f.decodeAs(o.Charset); err != nil {
		return err
	}
	for size := int64(detectSize); ; size *= 4 {
		data, err := f.beginning(ctx, size)
		if err != nil {
			return err
		}
		at, err := f.afterMark(data)
		if err != nil {
			return err
		}
		f.dataStart = int64(at)
		last := int64(len(data)) < size
		lines, err := firstPaths(data[f.dataStart:], last, f.decoder())
		switch {
		case errors.Is(err, jsonlines.ErrWholeFile), err != nil && len(o.Columns) == 0:
			return fmt.Errorf("%s: %w", f.Path, err)
		case lines != nil || err != nil || last || size >= int64(o.MaxRecord):
			if j.seen = lines; len(o.Columns) == 0 {
				f.columns = lines
			}
			return nil
		}
	}
}

// firstPaths returns the paths in the first lines of a text that are valid names of columns.
func firstPaths(data []byte, last bool, set delimited.Charset) ([]string, error) {
	var decode func(line []byte) []byte
	if set != nil {
		decode = func(line []byte) []byte {
			line, _ = set.Append(nil, line) // the reader reports invalid characters
			return line
		}
	}
	paths, err := jsonlines.FirstPaths(data, last, decode)
	if err == nil && paths != nil {
		err = sniff.CheckHeader(paths)
	}
	return paths, err
}

// offer checks that the lines can have the wanted columns. Each line names its own members: a column of the schema that is not in the
// file's path is looked for in every line.
func (j *jsonText) offer(wanted []string, first string, o *Options) error {
	f := j.f
	if o.Extra == ExtraFail {
		return setting.Errorf("%s fail is not for JSON lines, which have no columns to compare: leave it out", setting.Extra)
	}
	if err := f.clash(j.seen); err != nil {
		return err
	}
	f.columns = nil
	looked, found := 0, false
	for _, name := range wanted {
		if constantAt(f.Partitions, name) >= 0 {
			continue
		}
		looked++
		found = found || slices.ContainsFunc(j.seen, func(path string) bool {
			return jsonlines.SameMember(path, name) || strings.HasPrefix(path, name+".") || strings.HasPrefix(name, path+".")
		})
	}
	if j.seen != nil && looked > 0 && !found {
		return fmt.Errorf("none of the members in its first lines is a column compared with %s", first)
	}
	return nil
}

func (j *jsonText) plan([]string, *Options) (err error) {
	j.f.chooseColumns()
	j.f.passOver(j.seen)
	j.wanted, err = jsonlines.Compile(j.f.columns)
	return err
}
