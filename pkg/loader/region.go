package loader

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/keygen/rowkey"
)

// Region is a range of a table's rows, with the server that serves it.
type Region struct {
	// Name is the full name, as in hbase:meta: table,start,id.encoded.
	Name []byte
	// Encoded is the 32 hexadecimal digits at its end, which are also its directory's name.
	Encoded string
	// Start is the first row, empty for the first region. End is the first row of the next region, empty for the last region.
	Start, End []byte
	// Server is host:port, empty while the region is not assigned.
	Server string
	// ID is the region's creation time, in milliseconds.
	ID uint64
}

// Contains reports whether a row is in the region: from Start on and before End.
func (r Region) Contains(row []byte) bool {
	return bytes.Compare(row, r.Start) >= 0 && r.before(row)
}

// before reports whether a row is before the end.
func (r Region) before(row []byte) bool {
	return len(r.End) == 0 || bytes.Compare(row, r.End) < 0
}

func (r Region) String() string {
	return fmt.Sprintf("%s [%s, %s)", r.Encoded, rowkey.String(r.Start), rowkey.String(r.End))
}

func (r Region) specifier() *pb.RegionSpecifier {
	return &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: r.Name}
}

// errNotAssigned is the error of a region without a server.
var errNotAssigned = errors.New("the region is on no server at present")

// find returns the index of the region that holds a row. The regions are contiguous, so there is one.
func find(regions []Region, row []byte) int {
	return sort.Search(len(regions), func(i int) bool { return bytes.Compare(regions[i].Start, row) > 0 }) - 1
}

// ServerOf returns the server of the region that has a row, empty while it is not assigned. The regions are all of a table, in order.
func ServerOf(regions []Region, row []byte) string {
	if i := find(regions, row); i >= 0 {
		return regions[i].Server
	}
	return ""
}

// HoleError is the error of a region list that does not cover each row once. A split or merge causes it for a moment; if it stays, HBase
// needs repair (hbck2).
type HoleError struct {
	Table TableName
	// End is the end of a region and Start the beginning of the next, which should be equal. For the first region End is
	// empty, for the last one Start is.
	End, Start []byte
}

func (e *HoleError) Error() string {
	what := "a hole"
	if len(e.End) > 0 && len(e.Start) > 0 && bytes.Compare(e.Start, e.End) < 0 {
		what = "an overlap"
	}
	return fmt.Sprintf("the regions of table %s have %s: one ends at \"%s\" and the next begins at \"%s\" (see hbase hbck2 if it stays)",
		e.Table, what, rowkey.String(e.End), rowkey.String(e.Start))
}

// checkContiguous checks that the regions, sorted by start, cover all rows once.
func checkContiguous(table TableName, regions []Region) error {
	var end []byte
	for i, r := range regions {
		if !bytes.Equal(r.Start, end) || (i > 0 && len(end) == 0) {
			return &HoleError{Table: table, End: end, Start: r.Start}
		}
		end = r.End
	}
	if len(end) != 0 {
		return &HoleError{Table: table, End: end}
	}
	return nil
}

// parseRegion reads a row of hbase:meta. ok is false for rows other than those of the table's regions in service: regions of other tables,
// replicas, and the parents of a split.
func parseRegion(table TableName, row Row) (r Region, ok bool, err error) {
	var info *pb.RegionInfo
	for _, cell := range row.Cells {
		switch string(cell.Qualifier) {
		case "regioninfo":
			if info, err = regionInfo(row.Key, cell.Value); err != nil {
				return r, false, err
			}
		case "server":
			r.Server = string(cell.Value)
		}
	}
	if info == nil {
		return r, false, nil // a row that is being deleted; checkContiguous reports a hole
	}
	if tableOf(info) != table || info.GetReplicaId() != 0 || info.GetSplit() || info.GetOffline() {
		return r, false, nil
	}
	r.Name = bytes.Clone(row.Key)
	r.Encoded = encodedName(r.Name)
	r.Start = bytes.Clone(info.GetStartKey())
	r.End = bytes.Clone(info.GetEndKey())
	r.ID = info.GetRegionId()
	return r, true, nil
}

// regionInfo decodes the description of a region in a row of hbase:meta.
func regionInfo(row, value []byte) (*pb.RegionInfo, error) {
	payload, found := bytes.CutPrefix(value, []byte("PBUF"))
	if !found {
		return nil, fmt.Errorf("hbase:meta row %s: its regioninfo is not a protobuf", metaRow(row))
	}
	info := &pb.RegionInfo{}
	if err := proto.Unmarshal(payload, info); err != nil {
		return nil, fmt.Errorf("hbase:meta row %s: %w", metaRow(row), err)
	}
	return info, nil
}

func tableOf(info *pb.RegionInfo) TableName {
	return TableName{Namespace: string(info.GetTableName().GetNamespace()), Qualifier: string(info.GetTableName().GetQualifier())}
}

// encodedName takes the encoded name out of "table,start,id.encoded." (RegionInfo.encodeRegionName).
func encodedName(name []byte) string {
	s, ok := strings.CutSuffix(string(name), ".")
	if !ok {
		return ""
	}
	return s[strings.LastIndexByte(s, '.')+1:]
}

// metaRow returns the name of a region without its first row.
func metaRow(key []byte) string {
	return strconv.Quote(hbaserpc.WithoutFirstRows(string(key)))
}
