package profiling

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/source"
)

// fulfilled reads the same records again, and returns the expectations that they meet.
func (r *reading) fulfilled(ctx context.Context, list []expectation.Asked) ([]expectation.Asked, error) {
	checks, errs := expectation.Parse(list)
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	c, err := expectation.NewCounter(checks, r.in.Source.Columns(), int64(r.options.Memory)/4, r.now)
	if err != nil || c == nil {
		return nil, err
	}
	if err := r.run(ctx, true, func() counter { return &expectedCounter{of: c} }); err != nil {
		return nil, err
	}
	judged, err := c.Counts().Judge(checks, nil)
	if err != nil {
		return nil, err
	}
	at := 0
	for i := range list {
		own, _ := expectation.Parse(list[i : i+1])
		for _, check := range own {
			if judged.Findings[at].Bad() {
				list[i].Drop(check.Kind)
			}
			at++
		}
	}
	return slices.DeleteFunc(list, func(a expectation.Asked) bool { return !a.Expects() }), nil
}

type expectedCounter struct {
	of    *expectation.Counter
	total *expectation.Tally
}

func (c *expectedCounter) begin(context.Context, int) error {
	c.total = c.of.Tally()
	return nil
}

func (c *expectedCounter) end(int) { c.total.End() }

func (c *expectedCounter) batch(b *source.Batch, rows []int) {
	nulls := b.Nulls()
	for _, row := range rows {
		build.Count(c.total, b, row, nulls)
	}
}
