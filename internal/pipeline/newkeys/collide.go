package newkeys

import (
	"bytes"
	"context"
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// locate adds the old keys of two rows with the same new key to an error. It finds
// the rows by their sequence numbers, by reading the regions again up to them.
func (r *reader) locate(ctx context.Context, err error) error {
	d, ok := errors.AsType[*extsort.DuplicateError](err)
	if !ok {
		return err
	}
	first, readErr := r.oldKey(ctx, d.First)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	second, readErr := r.oldKey(ctx, d.Second)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return fail.With(fail.BadRows, setting.Errorf("%w: %w, and %w (make the key of more columns, or keep one of the rows with %s first or last, by the order of their old keys)",
		d, r.dataError(d.First, first), r.dataError(d.Second, second), setting.Duplicates))
}

func (r *reader) dataError(seq uint64, key []byte) error {
	number, row := placeOf(seq)
	p, of := r.parts[number], ""
	if p.start != nil {
		of = "a part of "
	}
	return fail.AboutData(key, "row %d of %sregion %s of snapshot %s, with an old key of %s", row+1, of, r.snap.Regions[p.region].Encoded, r.snap.Name, setting.Count(len(key), "byte"))
}

// oldKey returns the old key of the row with a sequence number.
func (r *reader) oldKey(ctx context.Context, seq uint64) (key []byte, err error) {
	number, row := placeOf(seq)
	if number >= len(r.parts) {
		return nil, fail.Errorf(fail.Unexpected, "a row is of part %d of snapshot %s, which has %d", number, r.snap.Name, len(r.parts))
	}
	p, view := r.parts[number], r.view
	view.Start, view.Stop = p.start, p.stop
	sc, err := r.snap.Scan(ctx, p.region, view)
	if err != nil {
		return nil, tablesource.InputFailure(err)
	}
	defer func() { err = errors.Join(err, tablesource.InputFailure(sc.Close())) }()
	at := int64(-1)
	for sc.Next() {
		if sc.NewRow() {
			if at++; at == row {
				return bytes.Clone(sc.Cell().Row), nil
			}
			if at%ReportEvery == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, tablesource.InputFailure(err)
	}
	return nil, fail.Errorf(fail.Input, "region %s of snapshot %s has no row %d any more", r.snap.Regions[p.region].Encoded, r.snap.Name, row+1)
}
