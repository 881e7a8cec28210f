package estimate

import (
	"context"
	"errors"
	"math"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/source"
)

const (
	// weightText is the number of bytes of an input that are read to weigh regions. Weights need less precision than an estimate: a
	// region whose weight is wrong by a tenth makes its task longer by a tenth.
	weightText = 24 << 20
	// packedRow is the assumed ratio of the size of a Parquet row to its share of the file. It only affects how the sample is
	// spread over files of several formats.
	packedRow = 3
)

// Weights estimates, from the keys of a sample, the bytes of keys and values that each region of a build gets. The order is that of the regions,
// further tables after the first. No weight is below the amount that half a row of the sample represents. The weights depend only on the input and
// the split points, not on the number of workers. Bad records are ignored: a run, which reads the whole input, evaluates them. An input without rows
// has weights of 0.
func Weights(ctx context.Context, files build.Files, s spec.Job, shapes []build.Shape, w build.WorkOptions) (all []int64, err error) {
	for i, t := range s.Targets() {
		own, err := weigh(ctx, files, t.Job, shapes[i].Families, shapes[i].Splits, w, weightText)
		if err != nil {
			return nil, err
		}
		all = append(all, own...)
	}
	return all, nil
}

func weigh(ctx context.Context, files build.Files, s spec.Job, families []spec.Family, points [][]byte, w build.WorkOptions, text int64) (_ []int64, err error) {
	s.BadRecords = "100%"
	in, err := build.OpenInput(ctx, files.Source, s, build.WorkOptions{Workers: w.Workers, Memory: w.Memory, SplitSize: countSplit})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	plan, err := cells.NewPlan(s, in.Source.Columns(), families[0], points, 1, families[1:]...)
	if err != nil {
		return nil, err
	}
	o := build.Options{Workers: w.Workers, Memory: w.Memory, Budget: in.Budget}.WithDefaults()
	o.Events = progress.Events{}
	extent, err := in.Source.RoughExtent(ctx)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	packed, row := ratios(in.Source, extent)
	c := &counting{plan: plan, in: in.Source, options: o, held: plan.Carries(), places: choosePlaces(in.Source, text, packed, row)}
	t, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	weights := make([]int64, plan.Ranges.Len())
	if t.seen == 0 {
		return weights, nil
	}
	half := t.bytes / float64(t.seen) / 2
	for i, r := range t.regions {
		weights[i] = int64(math.Ceil(max(r.bytes, half)))
	}
	return weights, nil
}

// ratios returns the uncompressed size of a byte of compressed text, and the approximate size of a Parquet row in bytes.
func ratios(in *source.Input, e source.Extent) (packed, row float64) {
	var packedSize, grouped int64
	text, files := e.Text, in.Files()
	for _, f := range files {
		switch {
		case f.Format.Traits().Rows:
			grouped += f.Size
		case f.Compression != "":
			packedSize += f.Size
		}
	}
	for _, s := range in.Splits() {
		if f := files[s.File]; f.Compression == "" && !f.Format.Traits().Rows {
			text -= s.End - s.Start
		}
	}
	packed = float64(max(text, 0)) / float64(max(packedSize, 1))
	return packed, max(1, packedRow*float64(grouped)/float64(max(e.Rows, 1)))
}
