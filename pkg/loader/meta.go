package loader

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/setting"
)

// metaRegion returns the only region of hbase:meta, on a server.
func metaRegion(server string) Region {
	return Region{Name: []byte("hbase:meta,,1"), Encoded: "1588230740", Server: server}
}

// scanMeta scans [start, stop) of hbase:meta. After a failed call it looks up the server again; each row is still passed to fn only once,
// as in any scan.
func (c *Cluster) scanMeta(ctx context.Context, start, stop []byte, family string, fn func(Row) error) (err error) {
	var at registry.Places
	s := &scan{
		cluster: c, req: ScanRequest{Families: []string{family}, CacheBlocks: true}.withDefaults(), what: "scan hbase:meta",
		locate: func(ctx context.Context, _ []byte, again bool) (_ Region, err error) {
			if again {
				c.registry.Forget(at)
			}
			at, err = c.registry.Meta(ctx)
			return metaRegion(at.Meta), err
		},
	}
	defer func() {
		if err != nil && !s.answered && late(ctx) {
			c.registry.Forget(at)
		}
	}()
	return s.run(ctx, start, stop, fn)
}

// healTime is how long a region list with a hole is read again: splits and merges leave a hole in hbase:meta for a moment.
const healTime = 12 * time.Second

// Regions reads the table's regions from hbase:meta, in order and without gaps. For a table that does not exist it returns
// ErrTableNotFound, for a gap that stays for 12 s a *HoleError. The caller owns the slices.
func (c *Cluster) Regions(ctx context.Context, table TableName) ([]Region, error) {
	pauses := retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second, For: healTime}
	began := time.Now()
	for tries := 1; ; tries++ {
		regions, err := c.readRegions(ctx, table)
		if err == nil {
			err = checkContiguous(table, regions)
		}
		if err == nil && len(regions) == 0 {
			if _, err := c.tableState(ctx, table); err != nil {
				return nil, err
			}
			err = &HoleError{Table: table}
		}
		if err == nil {
			c.regions.put(table, regions)
			return slices.Clone(regions), nil
		}
		wait, again := pauses.Next(began, tries)
		if _, hole := errors.AsType[*HoleError](err); !hole || !again {
			return nil, fmt.Errorf("read the regions of %s: %w", table, err)
		}
		c.log.Info("region map has a gap, reading it again", "table", table.String(), "error", err)
		if err := retry.Sleep(ctx, wait); err != nil {
			return nil, fmt.Errorf("read the regions of %s: %w", table, err)
		}
	}
}

// scanRegions scans the rows of hbase:meta that report a table's regions. The stop row is Java's
// (MetaTableAccessor.getTableStopRowForMeta): hbase:meta compares the table's part of a key by itself, and "t " follows "t".
func (c *Cluster) scanRegions(ctx context.Context, table TableName, fn func(Row) error) error {
	return c.scanMeta(ctx, []byte(table.String()+",,"), []byte(table.String()+" ,,"), "info", fn)
}

// readRegion reads the row of one region of a table, by the region's name. ok is false if the table has no such region in service.
func (c *Cluster) readRegion(ctx context.Context, table TableName, name []byte) (r Region, ok bool, err error) {
	err = c.scanMeta(ctx, name, append(bytes.Clone(name), 0), "info", func(row Row) (err error) {
		r, ok, err = parseRegion(table, row)
		return err
	})
	return r, ok, err
}

func (c *Cluster) readRegions(ctx context.Context, table TableName) ([]Region, error) {
	var regions []Region
	err := c.scanRegions(ctx, table, func(row Row) error {
		r, ok, err := parseRegion(table, row)
		if err == nil && ok {
			regions = append(regions, r)
		}
		return err
	})
	slices.SortStableFunc(regions, func(a, b Region) int { return bytes.Compare(a.Start, b.Start) })
	return regions, err
}

// KnownRegions returns the cached regions of the table; if there are none, they are read once for all concurrent callers. They may be
// stale: a scan reads them again when it finds them so. The slice is shared: do not change it.
func (c *Cluster) KnownRegions(ctx context.Context, table TableName) ([]Region, error) {
	return c.regions.after(ctx, table, nil, false)
}

// TableState is the state of a table. Only a table that is Enabled can be loaded and read.
type TableState int

// The states of a table (HBaseProtos.TableState).
const (
	Enabled TableState = iota
	Disabled
	Disabling
	Enabling
)

func (s TableState) String() string {
	return setting.Word("TableState", s, "ENABLED", "DISABLED", "DISABLING", "ENABLING")
}

// ErrTableNotFound is the error of a table that does not exist.
var ErrTableNotFound = errors.New("the table does not exist")

// tableState reads the table's row of hbase:meta, family "table", qualifier "state": a TableState message without the usual PBUF prefix.
func (c *Cluster) tableState(ctx context.Context, table TableName) (TableState, error) {
	state, _, err := c.tableStateAt(ctx, table)
	return state, err
}

// tableStateAt returns the state and the timestamp of its cell.
func (c *Cluster) tableStateAt(ctx context.Context, table TableName) (TableState, int64, error) {
	row := []byte(table.String())
	state, at, found := Enabled, int64(0), false
	err := c.scanMeta(ctx, row, append(row, 0), "table", func(row Row) error {
		for _, cell := range row.Cells {
			if string(cell.Qualifier) != "state" {
				continue
			}
			value, ok := varintField(cell.Value, 1)
			if !ok {
				return fmt.Errorf("state of table %s: %q is not a table state", table, cell.Value)
			}
			state, at, found = TableState(value), cell.Timestamp, true
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("table %s: %w", table, ErrTableNotFound)
	}
	return state, at, err
}

// inService returns ErrTableDisabled for a table that is disabled, or being disabled.
func (c *Cluster) inService(ctx context.Context, table TableName) error {
	state, err := c.tableState(ctx, table)
	if err == nil && (state == Disabled || state == Disabling) {
		err = fmt.Errorf("table %s %w", table, ErrTableDisabled)
	}
	return err
}

// varintField is [frames.Number], and reports whether the field is there.
func varintField(msg []byte, field protowire.Number) (value uint64, ok bool) {
	frames.Fields(msg, func(num protowire.Number, v uint64, _ []byte) {
		if num == field {
			value, ok = v, true
		}
	})
	return value, ok
}

// RegionTraces returns the encoded names of all regions of a table in hbase:meta: those in service, parents of splits and sources of
// merges. The latter two stay for some minutes only, until no file refers to their files any more.
func (c *Cluster) RegionTraces(ctx context.Context, table TableName) (map[string]bool, error) {
	traces := map[string]bool{}
	err := c.scanRegions(ctx, table, func(row Row) error {
		for _, name := range regionTraces(table, row) {
			traces[name] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for earlier regions of %s: %w", table, err)
	}
	return traces, nil
}

// regionTraces returns the encoded names in a row of hbase:meta: that of its region, and those of the regions that were merged into it
// (info:merge0000 and so on, each with a RegionInfo).
func regionTraces(table TableName, row Row) (names []string) {
	for _, cell := range row.Cells {
		own := string(cell.Qualifier) == "regioninfo"
		if !own && !strings.HasPrefix(string(cell.Qualifier), "merge") {
			continue
		}
		info, err := regionInfo(row.Key, cell.Value)
		if err != nil || tableOf(info) != table || info.GetReplicaId() != 0 {
			continue
		}
		if own {
			names = append(names, encodedName(row.Key))
		} else {
			names = append(names, encodeName(table, info))
		}
	}
	return names
}

// encodeName returns a region's encoded name (RegionInfo.encodeRegionName): the MD5 of table,start,id, which is its name without the
// encoded name and the dot before it.
func encodeName(table TableName, info *pb.RegionInfo) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s,%s,%d", table, info.GetStartKey(), info.GetRegionId()))
	return hex.EncodeToString(sum[:])
}
