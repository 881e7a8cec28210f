package hbaserpc

import (
	"context"
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
			c := pipedClient(new(net.Dialer).DialContext)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l, err := c.Connect(ctx, addr, ClientService)
			if err != nil {
				t.Fatal(err)
			}
			req := &pb.ScanRequest{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte("a_region_with_a_name_of_some_length")}}
			_, err = l.Queue(ctx, "Scan", req, &pb.ScanResponse{}).Wait()
			ce, ok := errors.AsType[*ConnectionError](err)
			if _, refused := errors.AsType[*frames.Error](err); !ok || !refused || ce.Addr != addr || Repeatable(err) {
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

// FuzzAnswer checks that gohbase's own parser does not panic for answers that pass the filter.
func FuzzAnswer(f *testing.F) {
	call := frames.AppendNumber(nil, 1, 1)
	f.Add(testrpc.Frame(call, protowire.AppendBytes(nil, []byte{8, 1})))
	f.Add(testrpc.Frame(frames.AppendBytes(call, headerBlock, frames.AppendNumber(nil, blockLength, 5)), append(protowire.AppendBytes(nil, nil), "cells"...)))
	f.Add(testrpc.Frame(frames.AppendBytes(call, headerException, frames.AppendBytes(nil, exceptionClass, []byte("x"))), nil))
	TakeLog(slog.New(slog.DiscardHandler))
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
		l := &Connection{client: client, tap: tap}
		_, _ = l.Queue(t.Context(), "Scan", &pb.ScanRequest{}, &pb.ScanResponse{}).Wait()
		client.Close()
	})
}
