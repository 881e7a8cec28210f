package loader

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tsuna/gohbase/pb"
)

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
