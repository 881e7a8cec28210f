package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// Options bound what is read. The zero value has the defaults.
type Options struct {
	// Sample is the number of bytes that are read from all files together, uncompressed. Default 16 MiB.
	Sample int64
	// Memory bounds the memory of decompressors and Parquet pages. Default 256 MiB.
	Memory int64
	// Values includes some values of each column in the report; they may be personal data.
	Values bool
}

const (
	defaultSample = 16 << 20
	maxSample     = 1 << 30
	defaultMemory = 256 << 20
	minShare      = 64 << 10 // minimum bytes read of a file: if the sample does not suffice for all files, some are only listed
)

// Run inspects inputs: files, directories or patterns. The settings of s constrain the result, but its inputs are ignored. The report lists unreadable
// inputs. An error means that the settings are wrong or that the file system failed.
func Run(ctx context.Context, resolve source.Resolve, inputs []string, s spec.Spec, o Options) (*Report, error) {
	o.Sample = min(cmp.Or(o.Sample, defaultSample), maxSample)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	if s.Comment != "" || s.Trim != "" || s.LastColumn != "" || len(s.Positions) > 0 {
		return nil, fail.With(fail.Config, errors.New("inspect does not detect comments, trimmed blanks, how a last column ends and where fixed columns stand: leave these settings out"))
	}
	g, err := NewGiven(s)
	if err != nil {
		return nil, err
	}
	if err := streams.Refuse(ctx, resolve, inputs, nil, "inspect"); err != nil {
		return nil, err
	}
	files, err := streams.Find(ctx, resolve, inputs, nil, nil) // standard input that is a file
	if err != nil {
		return nil, err
	}
	resolve = files.Resolve
	r := &Report{Schema: 1, Inputs: slices.Clone(inputs), Files: []File{}, given: s}
	so := source.Options{AllowEmpty: s.AllowEmpty, Partitions: s.Partitions, Where: s.Where, Memory: o.Memory, Extra: source.Extra(s.Extra),
		Missing: source.Missing(s.Missing), Columns: s.Columns, Charset: s.LinesCharset()}
	if !source.Format(s.Format).Traits().Text { // text is validated without its format, because its dialect is detected later
		so.Format = source.Format(s.Format)
	}
	if err := so.Validate(); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	so.Format, so.Dialect = source.Format(s.Format), g.text // with a dialect, a job reads text whatever its name is
	var heads []*source.Head
	for _, input := range inputs {
		list, left, err := source.Heads(ctx, resolve, input, so)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.Refused = append(r.Refused, Refusal{input, fieldNames(err)})
			continue
		}
		heads = append(heads, list...)
		for _, l := range left {
			r.LeftOut = append(r.LeftOut, LeftOut{l.Kind, int64(l.Count), l.First})
		}
	}
	if err := r.look(ctx, heads, &o, g, resolve, so); err != nil {
		return nil, err
	}
	r.finish()
	return r, r.try(ctx, resolve)
}

// try reads all of a small input with the draft job file. If a job refuses it, that is a doubt.
func (r *Report) try(ctx context.Context, resolve source.Resolve) error {
	file := r.Job()
	if file == nil || !r.Sample.Whole || len(r.Refused) > 0 {
		return nil
	}
	records, err := r.tryJob(ctx, resolve, file)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && records == 0 {
		r.refuseEmpty()
	}
	if err != nil {
		r.Doubts = append(r.Doubts, Doubt{About: []string{"inputs"}, Text: "a job refuses it: " + fieldNames(err)})
	}
	return nil
}

// fieldNames returns an error's text with the settings as fields of a job file.
func fieldNames(err error) string {
	return setting.In(err, func(n setting.Name) string { return "`" + string(n) + "`" })
}

// refuseEmpty adds the refusal of a job whose input has no records.
func (r *Report) refuseEmpty() {
	if err := build.SomeRecords(0, 0, 0, build.Options{AllowEmpty: r.given.AllowEmpty}); err != nil {
		r.Refused = append(r.Refused, Refusal{r.Files[0].Path, r.Files[0].Path + ": " + fieldNames(err)})
	}
}

// tryJob reads the input with a job file, and returns the number of its records.
func (r *Report) tryJob(ctx context.Context, resolve source.Resolve, file []byte) (records int64, err error) {
	s, err := spec.ParseSpec("the job file", file)
	if err != nil {
		return 0, err
	}
	s.Inputs = r.Inputs // as a command expands them
	if r.bad && s.BadRecords == "" {
		s.BadRecords = "100%" // a note says so
	}
	j, err := s.ResolveTable()
	if err != nil {
		return 0, err
	}
	in, err := build.OpenInput(ctx, resolve, j, build.WorkOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	reader := in.Source.NewReader()
	for split := range in.Source.Splits() {
		if err := reader.Read(ctx, split, func(*source.Batch) error { return nil }); err != nil {
			return 0, err
		}
	}
	return in.Source.Records(), nil
}

// look opens all files, and reads the beginnings of as many as the sample size allows.
func (r *Report) look(ctx context.Context, heads []*source.Head, o *Options, g *Given, resolve source.Resolve, so source.Options) error {
	var good []*source.Head
	formats := map[string]int{}
	for _, h := range heads {
		err := h.Look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		info := h.Info()
		if err != nil {
			r.Refused = append(r.Refused, Refusal{info.Path, fieldNames(err)})
			continue
		}
		if so.Format != "" && info.Size > 0 && info.Format != so.Format {
			r.Refused = append(r.Refused, Refusal{info.Path, fmt.Sprintf("%s is %s, and %s %s is given: leave it out, or give %[2]s", info.Path, info.Format, setting.Format, so.Format)})
			continue
		}
		f := File{Path: info.Path, Size: info.Size, Compression: info.Compression, Format: string(info.Format)}
		if info.Size == 0 {
			continue // nothing to read
		}
		if info.Format == source.FormatAuto || info.Format.Traits().Text {
			f.Format = "text"
		}
		for _, p := range h.Partitions() {
			if f.Partitions == nil {
				f.Partitions = map[string]string{}
			}
			if f.Partitions[p.Name] = p.Value; p.Null {
				f.Partitions[p.Name] = "__HIVE_DEFAULT_PARTITION__"
			}
		}
		formats[f.Format]++
		r.Files, good = append(r.Files, f), append(good, h)
	}
	switch {
	case len(formats) == 0:
		return nil
	case len(formats) > 1:
		r.Doubts = append(r.Doubts, Doubt{About: []string{"inputs"}, Text: "there are files of several formats: " + strings.Join(slices.Sorted(maps.Keys(formats)), ", ") + ". Inspect those of each by themselves"})
		return nil
	}
	r.Format = r.Files[0].Format
	chosen, share := spread(len(good), o.Sample)
	switch {
	case r.Format == "text":
		return r.lookText(ctx, good, chosen, int(share), g, o)
	case r.traits().Described:
		r.Notes = append(r.Notes, "the bad records of an earlier job: they are read with format "+r.Format)
		return nil
	}
	return r.lookTyped(ctx, good, chosen, share, resolve, so, o)
}

func (r *Report) traits() source.Traits { return source.Format(r.Format).Traits() }

// spread selects evenly distributed files so that each has a useful share of the sample.
func spread(n int, sample int64) (chosen []int, share int64) {
	most := int(max(1, sample/minShare))
	count := min(n, most)
	for i := range count {
		at := i
		if count < n && count > 1 {
			at = i * (n - 1) / (count - 1)
		}
		chosen = append(chosen, at)
	}
	return chosen, max(1, sample/int64(max(1, count)))
}
