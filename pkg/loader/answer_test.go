package loader

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"
)

// hostile returns the address of a server that answers each call with the same bytes.
func hostile(t *testing.T, answer []byte) string {
	t.Helper()
	return testcheck.Serve(t, func(nc net.Conn) {
		testrpc.Serve(nc, func(c *testrpc.Call) error {
			c.Raw = answer
			return nil
		})
	}).Addr().String()
}

// TestHostileAnswersAreRefused checks that answers for which gohbase would allocate 4 GiB, or panic in its own goroutine, are errors with the
// server's address.
func TestHostileAnswersAreRefused(t *testing.T) {
	call := frames.AppendNumber(nil, 1, 1) // the number of the first call
	for name, answer := range map[string][]byte{
		"4 GiB":                      {0xff, 0xff, 0xff, 0xff},
		"cells longer than all":      testrpc.Frame(frames.AppendBytes(call, headerBlock, frames.AppendNumber(nil, blockLength, 1<<32-1)), []byte{0}),
		"cells over the header":      testrpc.Frame(frames.AppendBytes(call, headerBlock, frames.AppendNumber(nil, blockLength, 10)), []byte{0}),
		"an exception without class": testrpc.Frame(frames.AppendBytes(call, headerException, frames.AppendBytes(nil, exceptionTrace, []byte("x"))), nil),
		"an exception without trace": testrpc.Frame(frames.AppendBytes(call, headerException, frames.AppendBytes(nil, exceptionClass, []byte("x"))), nil),
		"an empty exception":         testrpc.Frame(frames.AppendBytes(call, headerException, ""), nil),
		"a header beyond its end":    {0, 0, 0, 2, 100, 0},
		"a header that is damaged":   testrpc.Frame([]byte{0xff}, nil),
		"nothing":                    {0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			addr := hostile(t, answer)
			cfg := Config{Quorum: "localhost:1", EffectiveUser: "x"}.withDefaults()
			takeLogrus(slog.New(slog.DiscardHandler))
			c := newCluster(cfg, slog.New(slog.DiscardHandler))
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l, err := c.connect(ctx, addr, region.RegionClient)
			if err != nil {
				t.Fatal(err)
			}
			call := &blockCall{call: *newCall(ctx, "Scan", &pb.ScanRequest{Region: Region{Name: []byte("a_region_with_a_name_of_some_length")}.specifier()}, &pb.ScanResponse{})}
			l.client.QueueRPC(call)
			err = l.wait(&call.call)
			ce, ok := errors.AsType[*ConnectionError](err)
			if _, refused := errors.AsType[*frames.Error](err); !ok || !refused || ce.Addr != addr || repeatable(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAnswerCheckAcceptsAnswers checks that valid answers pass, with an exception, with cells and without.
func TestAnswerCheckAcceptsAnswers(t *testing.T) {
	call := frames.AppendNumber(nil, 1, 7)
	exception := frames.AppendBytes(frames.AppendBytes(nil, exceptionClass, []byte("java.io.IOException")), exceptionTrace, []byte("at x"))
	f := newAnswerFilter()
	for range 3 {
		for _, answer := range [][]byte{
			testrpc.Frame(call, protowire.AppendBytes(nil, []byte("response"))),
			testrpc.Frame(frames.AppendBytes(call, headerException, exception), nil),
			testrpc.Frame(frames.AppendBytes(call, headerBlock, frames.AppendNumber(nil, blockLength, 5)), append(protowire.AppendBytes(nil, nil), "cells"...)),
		} {
			if err := f.Pass(answer); err != nil {
				t.Errorf("%q: %v", answer, err)
			}
		}
	}
}

// TestHostileZooKeeperIsRefused checks that an announced answer of gigabytes from a false ZooKeeper server is rejected.
func TestHostileZooKeeperIsRefused(t *testing.T) {
	connect := make([]byte, 36)
	binary.BigEndian.PutUint32(connect[4:], 4000)
	connect[15], connect[19] = 1, 16
	frame := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	get := make([]byte, 16+4)
	get[3] = 1
	binary.BigEndian.PutUint32(get[16:], 1<<31-1)
	for _, c := range []struct {
		answers []byte
		why     string
	}{
		{[]byte{0x7f, 0xff, 0xff, 0xff}, "an answer of 2147483647 bytes is longer than 16777216"},
		{frame(make([]byte, 8)), "an answer of 8 bytes is too short for ZooKeeper"},
		{append(frame(connect), 0xff, 0xff, 0xff, 0xff), "an answer of 4294967295 bytes is longer than 16777216"},
		{append(frame(connect), frame(make([]byte, 15))...), "an answer of 15 bytes is too short for ZooKeeper"},
		{append(frame(connect), frame(get)...), "an answer of 20 bytes says that its data are longer than it is"},
		{frame(connect), ""},
	} {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write(c.answers)
			there.Close()
		}()
		_, err := io.ReadAll(newZKConn(here))
		if e, ok := errors.AsType[*frames.Error](err); c.why == "" && err != nil || c.why != "" && (!ok || e.Error() != c.why) {
			t.Errorf("%x: %v, want %q", c.answers, err, c.why)
		}
	}
}

// FuzzAnswer checks that gohbase's own parser does not panic for answers that pass the filter.
func FuzzAnswer(f *testing.F) {
	call := frames.AppendNumber(nil, 1, 1)
	f.Add(testrpc.Frame(call, protowire.AppendBytes(nil, []byte{8, 1})))
	f.Add(testrpc.Frame(frames.AppendBytes(call, headerBlock, frames.AppendNumber(nil, blockLength, 5)), append(protowire.AppendBytes(nil, nil), "cells"...)))
	f.Add(testrpc.Frame(frames.AppendBytes(call, headerException, frames.AppendBytes(nil, exceptionClass, []byte("x"))), nil))
	takeLogrus(slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, answer []byte) {
		here, there := net.Pipe()
		tap := newTap(here, time.Second, time.Minute)
		client := region.NewClient("x", region.RegionClient, 1, 0, "u", time.Second, nil, func(context.Context, string, string) (net.Conn, error) { return tap, nil })
		go func() {
			_, _ = io.CopyN(io.Discard, there, 40)
			go func() { _, _ = io.Copy(io.Discard, there) }()
			_, _ = there.Write(answer)
			there.Close()
		}()
		if err := client.Dial(t.Context()); err != nil {
			return
		}
		l := &link{client: client, tap: tap}
		call := &blockCall{call: *newCall(t.Context(), "Scan", &pb.ScanRequest{}, &pb.ScanResponse{})}
		client.QueueRPC(call)
		_ = l.wait(&call.call)
		client.Close()
	})
}
