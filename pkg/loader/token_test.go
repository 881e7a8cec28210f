package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"
	"bulkload/pkg/kerberos"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"
)

// loading is a server that loads all files, and notes the tokens of the requests.
type loading struct{ tokens []string }

func (l *loading) answer(c *testrpc.Call) error {
	token, _ := frames.Bytes(c.Request.ProtoReflect().GetUnknown(), bulkLoadFSToken)
	identifier, _ := frames.Bytes(token, 1)
	l.tokens = append(l.tokens, string(identifier))
	c.Answer.(*pb.BulkLoadHFileResponse).Loaded = proto.Bool(true)
	return nil
}

// gateFunc is a gate that calls a function.
type gateFunc func()

func (f gateFunc) Wait(context.Context) error {
	f()
	return nil
}

// TestEachCallAsksForAToken checks that the delegation token of a call is asked for after the gate, where a load may wait for longer than a token lives,
// and that a load continues with the last token if no other one is given out.
func TestEachCallAsksForAToken(t *testing.T) {
	waits, asked := 0, 0
	cfg := Config{Token: func(context.Context, string) (*kerberos.Token, error) {
		if asked++; asked == 4 {
			return nil, errors.New("no NameNode answers")
		}
		return &kerberos.Token{Identifier: fmt.Appendf(nil, "after %d waits", waits)}, nil
	}}
	c := stubCluster(cfg)
	defer c.Close()
	l := settlingLoad(t, c, &memFS{})
	l.req.Gate, l.token = gateFunc(func() { waits++ }), testStaging
	var server loading
	serveStub(c, "rs:1", server.answer)
	at := &line{pace: newPace(1)}
	defer at.drop()
	for range 4 {
		g := group{region: Region{Name: []byte("r"), Server: "rs:1"}, files: []HFile{{Path: "/s/f/a", Family: "f"}}}
		_, err := l.turn(t.Context(), semaphore.NewWeighted(1), at, g, func() bool { return false })
		testcheck.Must(t, err)
	}
	if want := []string{"after 1 waits", "after 2 waits", "after 3 waits", "after 3 waits"}; !slices.Equal(server.tokens, want) {
		t.Errorf("tokens %q, want %q", server.tokens, want)
	}
	asked = 3
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.fileToken(ctx, "/s/f/a"); err == nil {
		t.Error("a load that is stopped takes the last token")
	}
	asked, l.fs = 3, nil
	if _, err := l.fileToken(t.Context(), "/s/f/a"); err == nil {
		t.Error("a load begins without a token")
	}
}
