package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"bulkload/internal/hadoop/frames"
)

// ChangeAttributes changes attributes of a table, and waits until the master has stored them. change gets the present attributes and returns those
// to change, with empty values for those to remove; an empty result changes nothing. HBase 2.5.13, 2.6 or later reopens no regions for this;
// earlier versions reopen them, one after the other. HBase cannot refuse the change if another client changes the table at the same moment.
func (c *Cluster) ChangeAttributes(ctx context.Context, table TableName, change func(now map[string]string) map[string]string) error {
	schema, err := c.descriptor(ctx, table)
	if err != nil {
		return fmt.Errorf("describe table %s: %w", table, err)
	}
	set := change(byteMap(schema.GetAttributes()))
	if len(set) == 0 {
		return nil
	}
	schema.Attributes = slices.DeleteFunc(schema.Attributes, func(p *pb.BytesBytesPair) bool {
		_, other := set[string(p.GetFirst())]
		return other
	})
	for _, p := range bytePairs(set) {
		if len(p.Second) > 0 {
			schema.Attributes = append(schema.Attributes, p)
		}
	}
	const reopenRegions = 5 // of ModifyTableRequest; gohbase's message has no field for it
	req := &pb.ModifyTableRequest{TableName: table.proto(), TableSchema: schema, NonceGroup: nonce(), Nonce: nonce()}
	req.ProtoReflect().SetUnknown(frames.AppendNumber(nil, reopenRegions, 0))
	err = c.masterDoes(ctx, "ModifyTable", req, &pb.ModifyTableResponse{})
	return tableError("modify", table, c.denied(err, "CREATE", "RWC", table.String()))
}
