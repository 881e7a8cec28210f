package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// Fields of Master.proto and Procedure.proto of HBase 2, which gohbase lacks: its ListProcedures is HBase 1's, and no later master has it.
const (
	proceduresList = 1 // GetProceduresResponse.procedure
	procedureClass = 1 // Procedure.class_name
	procedureState = 6 // Procedure.state: ProcedureState

	rolledBack, succeeded = 5, 6 // ProcedureState
)

// Fields of Admin.proto and HBase.proto, whose messages gohbase lacks or does not expect here.
const (
	serverInfo      = 1 // GetServerInfoResponse.server_info
	infoServer      = 1 // ServerInfo.server_name
	serverStartCode = 3 // ServerName.start_code
)

// Gone reports whether the address of a region server, named as in [Status.Started], shows that it does not run any more: the connection is refused,
// another server has the address, or it starts or stops. The master learns that when the server's session at ZooKeeper ends, which takes up to
// zookeeper.session.timeout (90 s): until then it lists the server as live, and does not recover it. A server that cannot be reached, or does not
// answer, is not known to be gone.
func (c *Cluster) Gone(ctx context.Context, server string) bool {
	for tries := 1; ; tries++ {
		gone, broke := c.looksGone(ctx, server)
		if !broke || tries == 5 || retry.Sleep(ctx, 200*time.Millisecond) != nil {
			return gone
		}
	}
}

// looksGone is Gone for one call. broke says that the connection was made and broke: a process that is ending still accepts connections.
func (c *Cluster) looksGone(ctx context.Context, server string) (gone, broke bool) {
	host, rest, _ := strings.Cut(server, ",")
	port, started, _ := strings.Cut(rest, ",")
	const limit = 10 * time.Second // a server answers at once
	// A connection of its own: one that was made before the server ended breaks without the reason.
	l, err := c.rpc.Dial(ctx, net.JoinHostPort(host, port), hbaserpc.AdminService, limit)
	resp := &emptypb.Empty{}
	if err == nil {
		defer l.Close()
		err = l.InvokeWithin(ctx, limit, "GetServerInfo", raw(nil), resp)
	}
	if err != nil {
		gone = errors.Is(err, syscall.ECONNREFUSED) || hbaserpc.ReactionTo(err) == hbaserpc.Relocate
		return gone, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	info, _ := frames.Bytes(resp.ProtoReflect().GetUnknown(), serverInfo)
	name, _ := frames.Bytes(info, infoServer)
	code, ok := varintField(name, serverStartCode)
	return ok && fmt.Sprint(code) != started, false
}

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
		class, _ := frames.Bytes(procedure, procedureClass)
		state := frames.Number(procedure, procedureState)
		recovering = recovering || state != rolledBack && state != succeeded && bytes.HasSuffix(class, []byte(".ServerCrashProcedure"))
	})
	if !sound {
		return false, errors.New("the answer does not end where its fields do")
	}
	return recovering, nil
}
