package replace

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// part identifies the rows of one file of markers.
type part struct {
	region, family int
	rows           int64
}

// Write writes a file of markers for each region and family that needs markers, for
// the compared snapshot and export. File names depend only on the table, the
// timestamp and the region: a repeated write replaces the files of the previous
// one. prefix is added to the paths, see [rewrite.Rewriter.Make].
func (s *Survey) Write(ctx context.Context, snap *snapshot.Snapshot, e *Export, rw *rewrite.Rewriter, prefix string, o Options) ([]loader.HFile, error) {
	var parts []rewrite.Content
	for i, families := range s.markers {
		for j, rows := range families {
			if rows == 0 {
				continue
			}
			p, region := part{i, j, rows}, snap.Regions[i]
			parts = append(parts, rewrite.Content{Family: snap.Families[j].Name, Name: hfile.Name("replace %s %d %s %q", snap.Table, o.Timestamp, snap.Families[j].Name, region.Start), Region: i,
				What: "markers for region " + region.Encoded, Size: rows * (rewrite.MarkerBytes + int64(len(region.Start))),
				Fill: func(ctx context.Context, add func(*hfile.Cell) error) error { return markers(ctx, snap, p, e, o, add) }})
		}
	}
	return rw.MakeAll(ctx, prefix, parts, readers, o.Events)
}

// markers adds a marker for each row of a region and family with a visible cell
// that is older than the export and in a column that the export does not write.
func markers(ctx context.Context, snap *snapshot.Snapshot, p part, e *Export, o Options, add func(*hfile.Cell) error) (err error) {
	at, family := snap.Regions[p.region], snap.Families[p.family].Name
	export := e.cells(ctx, family, at.Start, at.End)
	defer func() { err = errors.Join(err, export.close()) }()
	if err := export.next(); err != nil {
		return err
	}
	sc, err := snap.Scan(ctx, p.region, snapshot.View{Versions: seen, Now: o.Now, Families: []string{family}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	whole := o.wholeFamilies(snap)[p.family]
	marker := hfile.Cell{Family: []byte(family), Timestamp: o.Timestamp - 1, Type: hfile.DeleteFamily}
	written := int64(0)
	for sc.Next() {
		c := sc.Cell()
		if c.Timestamp >= o.Timestamp || written > 0 && bytes.Equal(c.Row, marker.Row) {
			continue
		}
		has, err := export.toColumn(c.Row, c.Qualifier)
		if err != nil {
			return err
		}
		if has && !whole {
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
		return fmt.Errorf("%s cells that the export does not write; before: %d", setting.Count(written, "row has"), p.rows)
	}
	return nil
}
