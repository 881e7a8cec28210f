package build

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/hdfsio"
)

// region is a unit of work of pass 2: the rows and bytes of a region, duplicates included.
type region struct {
	i          int // in its table
	rows, size int64
}

// tableRegion is a region with the writer of its table.
type tableRegion struct {
	writers *writers
	region
}

// writeAll writes the regions of all tables with the given number of workers.
func writeAll(ctx context.Context, n int, tables []*writers) error {
	var regions []tableRegion
	total := progress.Amount{}
	for _, w := range tables {
		for i := range w.plan.Ranges.Len() {
			if rows, size := w.sort.Size(w.from + i); rows > 0 && !w.resume.has(w.from+i) && (w.only == nil || w.only(w.from+i)) {
				regions = append(regions, tableRegion{w, region{i, rows, size}})
				total.Rows += rows
			}
		}
	}
	slices.SortFunc(regions, func(a, b tableRegion) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.writers.from+a.i, b.writers.from+b.i))
	})
	tables[0].events.Total("write", total)
	for _, w := range tables {
		if l, ok := w.out.FS.(hdfsio.Local); ok {
			w.out.FS = l.Grouped()
		}
	}
	// Indexes are last: the records without a row in the first table are known only when that table is written.
	data, indexes := regions, []tableRegion(nil)
	if len(tables) > 1 {
		slices.SortStableFunc(regions, func(a, b tableRegion) int {
			return cmp.Compare(btoi(a.writers.plan.IsIndex()), btoi(b.writers.plan.IsIndex()))
		})
		at := slices.IndexFunc(regions, func(r tableRegion) bool { return r.writers.plan.IsIndex() })
		if at >= 0 {
			data, indexes = regions[:at], regions[at:]
		}
	}
	err := writeRegions(ctx, n, tables, data)
	if err == nil && len(indexes) > 0 {
		if s, ok := tables[0].sort.(interface{ SealLost() error }); ok {
			err = s.SealLost()
		}
		if err == nil {
			err = writeRegions(ctx, n, tables, indexes)
		}
	}
	for _, w := range tables {
		w.sortFiles()
	}
	return err
}

// sortFiles sorts the files in the order of their rows.
func (w *writers) sortFiles() {
	slices.SortFunc(w.files, func(a, b manifest.File) int { return cmp.Or(a.Region-b.Region, cmp.Compare(a.Family, b.Family)) })
}

// writeRegions writes some regions with the given number of workers.
func writeRegions(ctx context.Context, n int, tables []*writers, regions []tableRegion) error {
	if len(regions) == 0 {
		return nil
	}
	var next atomic.Int64
	helpers := encode.NewIdle(n)
	for _, w := range tables {
		w.helpers = helpers
	}
	return workers.Run(ctx, n, func(ctx context.Context, _ int) error {
		if err := takeRegions(ctx, regions, &next, max(completing/n, 1)); err != nil {
			helpers.Leave()
			return err
		}
		helpers.Help()
		return nil
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rewrite writes the region from the sorted rows until its files are complete, after an earlier write has failed.
func (r tableRegion) rewrite(ctx context.Context, failed error) error {
	if failed == nil {
		return nil
	}
	return r.writers.writeAgain(ctx, r.region, failed)
}

// named adds the table to an error, if there are several tables.
func (w *writers) named(err error) error {
	if err == nil || !w.several {
		return err
	}
	return fmt.Errorf("table %s: %w", w.plan.Table, err)
}
