package inspect

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/source"
)

// errEnough stops the reading of a sample.
var errEnough = errors.New("enough")

// maxRows is the maximum number of rows of one file that are read where reading is
// by rows.
const maxRows = 100_000

// lookTyped reads the first rows of JSON lines, Avro, Parquet and ORC.
func (r *Report) lookTyped(ctx context.Context, heads []*source.Head, chosen []int, share int64, resolve source.Resolve, so source.Options, o *Options) error {
	p := newProfile(o.Values)
	whole := len(chosen) == len(heads)
	for _, at := range chosen {
		f := &r.Files[at]
		so := so
		so.Format, so.Dialect, so.Partitions, so.Where = source.Format(f.Format), nil, []string{source.PartitionsOff}, nil
		so.Columns = slices.DeleteFunc(slices.Clone(so.Columns), func(name string) bool { return f.Partitions[name] != "" })
		so.Reject = func(e source.RowError) error { return &e }
		ended, err := r.sampleRows(ctx, p, f, heads[at], share, resolve, so)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.Refused = append(r.Refused, Refusal{f.Path, err.Error()})
			continue
		}
		f.Whole, whole = ended, whole && ended
		r.Sample.Files++
		r.Sample.Bytes += f.Sampled
	}
	r.Sample.Whole = whole
	r.addProfile(p)
	return nil
}

// sampleRows reads the rows of one file, up to share bytes; ended reports whether
// these are all rows of the file.
func (r *Report) sampleRows(ctx context.Context, p *profile, f *File, h *source.Head, share int64, resolve source.Resolve, so source.Options) (ended bool, err error) {
	in, err := source.Open(ctx, resolve, []string{f.Path}, so)
	if err != nil {
		return false, err
	}
	columns := in.Columns()
	places := p.places(columns)
	f.Lacks = columns
	reader := in.NewReader()
	for split := range in.Splits() {
		err := reader.Read(ctx, split, func(b *source.Batch) error {
			for row := range b.Rows {
				p.begin()
				for c := range b.Cols {
					if b.Null(row, c) {
						continue
					}
					v := b.Field(row, c)
					p.value(places[c], v)
					if len(v) > 1 && v[0] == '{' && !source.Format(f.Format).Traits().Open {
						r.within(p, h, columns[c], v)
					}
				}
				p.end()
				f.Rows++
			}
			if f.Sampled += b.Bytes; f.Sampled >= share || f.Rows >= maxRows {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

const (
	maxNested   = 256 // paths within nested columns
	maxNestings = 200 // inspected values of each nested column
)

// within adds a column for each path into a nested column.
func (r *Report) within(p *profile, h *source.Head, column string, v []byte) {
	if p.nestings == nil {
		p.nestings = map[string]int{}
	}
	if p.nestings[column]++; p.nestings[column] > maxNestings {
		return
	}
	members, err := jsonlines.Names(v)
	if err != nil {
		return
	}
	for _, m := range members {
		path := column + "." + m.Path
		if p.within[path] || len(p.within) >= maxNested || m.Kind == jsonlines.Object {
			continue
		}
		p.within[path] = true
		if h.Leads(path) {
			p.inner = append(p.inner, Column{Name: path, Within: column, Type: kindType(m.Kind)})
		}
	}
}

func kindType(k jsonlines.Kind) Type {
	switch k {
	case jsonlines.String:
		return TypeText
	case jsonlines.Number:
		return TypeDecimal
	case jsonlines.Bool:
		return TypeBoolean
	case jsonlines.Array, jsonlines.Object:
		return TypeJSON
	}
	return TypeUnknown
}

// withInner inserts the paths after the columns that contain them.
func withInner(columns, inner []Column) []Column {
	var all []Column
	for _, c := range columns {
		all = append(all, c)
		for _, in := range inner {
			if in.Within == c.Name {
				all = append(all, in)
			}
		}
	}
	return slices.Clip(all)
}
