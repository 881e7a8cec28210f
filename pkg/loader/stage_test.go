package loader

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/region"
)

// preparing is a client of gohbase that prepares and cleans up loads. It notes the staging directories that are there.
type preparing struct {
	forgetful
	there []string
}

func (*preparing) Close() {}

func (p *preparing) QueueRPC(c hrpc.Call) {
	msg := c.NewResponse()
	switch c.Name() {
	case "PrepareBulkLoad":
		p.there = append(p.there, testStaging)
		msg.ProtoReflect().SetUnknown(frames.AppendBytes(nil, preparedToken, []byte(testStaging)))
	case "CleanupBulkLoad":
		token, _ := bytesField(c.ToProto().ProtoReflect().GetUnknown(), cleanupToken)
		p.there = slices.DeleteFunc(p.there, func(dir string) bool { return dir == string(token) })
	}
	c.ResultChan() <- hrpc.RPCResult{Msg: msg}
}

// TestStagingDirectoryWithoutRecord checks that a staging directory is deleted if its handler could not record it, also when the load is stopped: no
// later attempt would know of it. One that was recorded stays.
func TestStagingDirectoryWithoutRecord(t *testing.T) {
	broken := errors.New("the journal cannot be written")
	for _, want := range []error{broken, nil} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c := newCluster(Config{Quorum: "none:1", EffectiveUser: "x"}.withDefaults(), slog.New(slog.DiscardHandler))
		defer c.Close()
		l := settlingLoad(t, c, &memFS{}, HFile{Path: "/s/f/a", Family: "f"})
		l.staged = ""
		var client preparing
		here, there := net.Pipe()
		defer there.Close()
		c.regions.put(l.req.Table, []Region{{Name: []byte("t,,1.x."), Encoded: "x", Server: "rs:1"}})
		c.servers[serverKey{"rs:1", region.RegionClient}] = &server{link: &link{client: &client, tap: newTap(here, time.Second, time.Minute)}}
		var prepared []string
		l.req.Events.OnPrepared = func(token string) error {
			prepared = append(prepared, token)
			stop()
			return want
		}
		err := l.stage(ctx)
		if !errors.Is(err, want) || !slices.Equal(prepared, []string{testStaging}) {
			t.Fatalf("prepared %q, error %v", prepared, err)
		}
		if gone := len(client.there) == 0; gone != (want != nil) || l.report.Cleaned != gone {
			t.Errorf("with error %v the directories %q are left, cleaned is %t", want, client.there, l.report.Cleaned)
		}
	}
}
