package undo

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sync"

	"bulkload/internal/workers"
	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
	"bulkload/pkg/rewrite"
	"bulkload/pkg/setting"
	"bulkload/pkg/snapshot"
)

// markerBytes is about what a marker takes in a file beside its row.
const markerBytes = 24

// part is what one file of markers is for.
type part struct {
	region int
	family string
	rows   int64
}

// write makes a file of markers for each region and family that has cells of
// the load. Names follow from the load and the region: a repeated writing
// replaces what the one before has left.
func (l *load) write(ctx context.Context, snap *snapshot.Snapshot, s *result.Survey, rw *rewrite.Rewriter, prefix string, o reading) ([]loader.HFile, error) {
	var parts []part
	for i, r := range s.Regions {
		for j, rows := range r.Families {
			if rows > 0 {
				parts = append(parts, part{i, s.Families[j].Family, rows})
			}
		}
	}
	o.events.Total("write", progress.Amount{Files: int64(len(parts))})
	files := make([]loader.HFile, len(parts))
	next := make(chan int, len(parts))
	for i := range parts {
		next <- i
	}
	close(next)
	var mu sync.Mutex
	err := workers.Run(ctx, min(o.workers, len(parts)), func(ctx context.Context, _ int) error {
		for i := range next {
			p := parts[i]
			f, err := rw.Make(ctx, prefix, p.family, l.fileName(snap, p), p.rows*markerBytes, func(ctx context.Context, add func(*hfile.Cell) error) error {
				return l.markers(ctx, snap, p, o, add)
			})
			if err != nil {
				return fail.With(fail.HDFS, fmt.Errorf("write markers for region %s: %w", snap.Regions[p.region].Encoded, err))
			}
			mu.Lock()
			files[i] = f
			mu.Unlock()
			o.events.Hfile(progress.HFile{Name: f.Path, Family: p.family, Region: p.region, Rows: f.Cells, Bytes: f.Size})
		}
		return nil
	})
	return files, err
}

// fileName is 32 hexadecimal digits, as HBase names store files.
func (l *load) fileName(snap *snapshot.Snapshot, p part) string {
	sum := md5.Sum(fmt.Appendf(nil, "undo %s %d %s %q", l.table, l.stamp, p.family, snap.Regions[p.region].Start))
	return hex.EncodeToString(sum[:])
}

// markers gives a marker for each row of a region and family that has cells of
// the load.
func (l *load) markers(ctx context.Context, snap *snapshot.Snapshot, p part, o reading, add func(*hfile.Cell) error) (err error) {
	sc, err := snap.Scan(ctx, p.region, snapshot.View{Raw: true, Now: o.now, Families: []string{p.family}})
	if err != nil {
		return err
	}
	defer func() {
		if e := sc.Close(); err == nil {
			err = e
		}
	}()
	marker := hfile.Cell{Family: []byte(p.family), Timestamp: l.stamp, Type: hfile.DeleteFamilyVersion}
	written := int64(0)
	for n := 0; sc.Next(); n++ {
		if n%build.ReportEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := sc.Cell()
		if !l.ofLoad(c) || written > 0 && bytes.Equal(c.Row, marker.Row) {
			continue
		}
		marker.Row = append(marker.Row[:0], c.Row...)
		if err := add(&marker); err != nil {
			return err
		}
		written++
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if written != p.rows {
		return fmt.Errorf("%s have cells of the load, a moment ago %d had", setting.Count(written, "row"), p.rows)
	}
	return nil
}
