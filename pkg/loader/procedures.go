package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"bulkload/internal/hadoop/frames"
)

// Fields of Master.proto and Procedure.proto of HBase 2, which gohbase lacks: its ListProcedures is HBase 1's, and no later master has it.
const (
	proceduresList = 1 // GetProceduresResponse.procedure
	procedureClass = 1 // Procedure.class_name
	procedureState = 6 // Procedure.state: ProcedureState

	rolledBack, succeeded = 5, 6 // ProcedureState
)

// Recovering reports whether the master is still recovering a dead region server. Until that ends, the master may write the server's WAL entries
// into the regions' directories. A user without ADMIN sees no procedures of others, and gets false.
func (c *Cluster) Recovering(ctx context.Context) (bool, error) {
	resp := &emptypb.Empty{}
	err := c.master(ctx, "GetProcedures", raw(nil), resp)
	if err == nil {
		var recovering bool
		if recovering, err = parseRecovering(resp.ProtoReflect().GetUnknown()); err == nil {
			return recovering, nil
		}
	}
	return false, fmt.Errorf("procedures of the master: %w", err)
}

// parseRecovering reports whether a GetProceduresResponse has a ServerCrashProcedure that has not ended.
func parseRecovering(answer []byte) (recovering bool, err error) {
	sound := frames.Fields(answer, func(field protowire.Number, _ uint64, procedure []byte) {
		if field != proceduresList || procedure == nil {
			return
		}
		class, _ := bytesField(procedure, procedureClass)
		state, _ := varintField(procedure, procedureState)
		recovering = recovering || state != rolledBack && state != succeeded && bytes.HasSuffix(class, []byte(".ServerCrashProcedure"))
	})
	if !sound {
		return false, errors.New("the answer does not end where its fields do")
	}
	return recovering, nil
}
