package loader

import (
	"context"
	"fmt"

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
