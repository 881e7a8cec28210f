package loader

import (
	"context"
	"errors"
	"slices"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testrpc"
)

// preparing is a server that prepares and cleans up loads. It notes the staging directories that are there.
type preparing struct{ there []string }

func (p *preparing) answer(c *testrpc.Call) error {
	switch c.Method {
	case "PrepareBulkLoad":
		p.there = append(p.there, testStaging)
		c.Answer.ProtoReflect().SetUnknown(frames.AppendBytes(nil, preparedToken, []byte(testStaging)))
	case "CleanupBulkLoad":
		token, _ := frames.Bytes(c.Request.ProtoReflect().GetUnknown(), cleanupToken)
		p.there = slices.DeleteFunc(p.there, func(dir string) bool { return dir == string(token) })
	}
	return nil
}

// TestStagingDirectoryWithoutRecord checks that a staging directory is deleted if its handler could not record it, also when the load is stopped: no
// later attempt would know of it. One that was recorded stays.
func TestStagingDirectoryWithoutRecord(t *testing.T) {
	broken := errors.New("the journal cannot be written")
	for _, want := range []error{broken, nil} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c := stubCluster(Config{})
		defer c.Close()
		l := settlingLoad(t, c, &memFS{}, HFile{Path: "/s/f/a", Family: "f"})
		l.staged = ""
		var server preparing
		c.regions.put(l.req.Table, []Region{{Name: []byte("t,,1.x."), Encoded: "x", Server: "rs:1"}})
		serveStub(c, "rs:1", server.answer)
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
		if gone := len(server.there) == 0; gone != (want != nil) || l.report.Cleaned != gone {
			t.Errorf("with error %v the directories %q are left, cleaned is %t", want, server.there, l.report.Cleaned)
		}
	}
}
