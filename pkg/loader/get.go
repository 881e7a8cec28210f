package loader

import (
	"context"
	"fmt"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// getsInFlight is the number of concurrent point reads. They share the connections.
const getsInFlight = 16

// Rows reads single rows: one Row for each key, in the order of the keys, without cells if the row does not exist. The caller owns the
// rows; their keys are the given slices. For a disabled table it returns [ErrTableDisabled] at once.
func (c *Cluster) Rows(ctx context.Context, table TableName, keys [][]byte) ([]Row, error) {
	rows := make([]Row, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(getsInFlight)
	for i, key := range keys {
		g.Go(func() (err error) {
			rows[i], err = c.get(ctx, table, key)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", setting.Count(len(keys), "row"), table, c.denied(err, "READ", "R", table.String()))
	}
	return rows, nil
}

// get reads a row, with the given families or all.
func (c *Cluster) get(ctx context.Context, table TableName, key []byte, families ...string) (row Row, err error) {
	get := &pb.Get{Row: key, MaxVersions: proto.Uint32(1)}
	for _, family := range families {
		get.Column = append(get.Column, &pb.Column{Family: []byte(family)})
	}
	at := &locator{regions: &c.regions, table: table, prompt: true}
	err = c.onRegion(ctx, "get", passing, at, key, func(l *hbaserpc.Connection, r Region) error {
		resp := &pb.GetResponse{}
		block, err := l.Queue(ctx, "Get", &pb.GetRequest{Region: r.specifier(), Get: get}, resp).Wait()
		if err != nil {
			return err
		}
		row, err = parseGet(key, resp, block)
		return err
	})
	return row, err
}

func parseGet(key []byte, resp *pb.GetResponse, block []byte) (Row, error) {
	row := Row{Key: key}
	for _, cell := range resp.GetResult().GetCell() { // outside of the block: servers send cells there without a codec
		row.Cells = append(row.Cells, Cell{
			Family: cell.GetFamily(), Qualifier: cell.GetQualifier(), Value: cell.GetValue(), Timestamp: int64(cell.GetTimestamp()),
			Type: hfile.Type(cell.GetCellType()),
		})
	}
	for len(block) > 0 {
		var cell Cell
		_, rest, err := nextCell(block, &cell)
		if err != nil {
			return row, err
		}
		row.Cells = append(row.Cells, cell)
		block = rest
	}
	return row, nil
}

// A Mutation changes cells of one row atomically.
type Mutation struct {
	Row    []byte
	Delete bool // deletes the cells with the timestamps that they name, and older ones; default: the cells are written
	// Cells have a family and a qualifier each. A write uses the server's time as their timestamp.
	Cells []Cell
	// If is the condition: the row is changed if this cell has exactly this value, or if the cell does not exist and the value is empty.
	If Cell
}

// Mutate changes a row if its condition holds, and reports whether it did. The answer to a call may be lost after the server has changed
// the row, or be an exception that followed the change: the call is then repeated, and the condition is tested again. So a mutation that
// changes the cell of its own condition may be reported as not done although it was. The bytes are not kept.
func (c *Cluster) Mutate(ctx context.Context, table TableName, m Mutation) (done bool, err error) {
	comparator, err := filter.NewBinaryComparator(filter.NewByteArrayComparable(m.If.Value)).ConstructPBComparator()
	if err != nil {
		return false, fmt.Errorf("write a row of %s: %w", table, err)
	}
	condition := &pb.Condition{Row: m.Row, Family: m.If.Family, Qualifier: m.If.Qualifier, CompareType: pb.CompareType_EQUAL.Enum(), Comparator: comparator}
	mutation := m.proto()
	at := &locator{regions: &c.regions, table: table, prompt: true}
	err = c.onRegion(ctx, "mutate", passing, at, m.Row, func(l *hbaserpc.Connection, r Region) error {
		resp := &pb.MutateResponse{}
		if err := l.Invoke(ctx, "Mutate", &pb.MutateRequest{Region: r.specifier(), Mutation: mutation, Condition: condition}, resp); err != nil {
			return err
		}
		done = resp.GetProcessed()
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("write a row of %s: %w", table, c.denied(err, "WRITE", "RW", table.String()))
	}
	return done, nil
}

func (m Mutation) proto() *pb.MutationProto {
	p := &pb.MutationProto{Row: m.Row, MutateType: pb.MutationProto_PUT.Enum()}
	if m.Delete {
		p.MutateType = pb.MutationProto_DELETE.Enum()
	}
	for _, cell := range m.Cells {
		v := &pb.MutationProto_ColumnValue_QualifierValue{Qualifier: cell.Qualifier, Value: cell.Value}
		if m.Delete {
			v.DeleteType, v.Timestamp = pb.MutationProto_DELETE_MULTIPLE_VERSIONS.Enum(), proto.Uint64(uint64(cell.Timestamp))
		}
		p.ColumnValue = append(p.ColumnValue, &pb.MutationProto_ColumnValue{Family: cell.Family, QualifierValue: []*pb.MutationProto_ColumnValue_QualifierValue{v}})
	}
	return p
}
