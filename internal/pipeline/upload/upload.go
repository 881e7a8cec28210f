// Package upload limits the data that a job writes to HDFS: bytes per second and
// concurrent files, for all of its HFiles together. It is a small leaf of its own:
// builds, loads and repairs share one limiter.
package upload

import (
	"context"
	"fmt"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/hdfsio"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Rate is a number of bytes per second, written like 50MiB or 50MiB/s.
type Rate spec.Size

// MinRate is the minimum rate for HFiles: DataNodes close streams that are too
// slow.
const MinRate = Rate(uploadPiece)

// String formats the rate as it is written.
func (r Rate) String() string { return spec.Size(r).String() }

// Set makes a Rate a flag value; 0 means no limit.
func (r *Rate) Set(text string) error {
	var s spec.Size
	if err := s.Set(strings.TrimSuffix(strings.TrimSpace(text), "/s")); err != nil {
		return fmt.Errorf("%q is not a rate; write 50MiB", text)
	}
	if Rate(s) != 0 && Rate(s) < MinRate {
		return fmt.Errorf("rate %q is below %s a second, which HDFS would take for a dead stream", text, MinRate)
	}
	*r = Rate(s)
	return nil
}

// Type returns the name of the flag's type for help texts.
func (r *Rate) Type() string { return "rate" }

// Options limit the data that a job writes to HDFS, all HFiles together.
type Options struct {
	Rate    Rate // bytes per second, default unlimited
	Streams int  // regions whose files are written concurrently, default the number of workers of the build, plus up to 32 small ones that are being completed
}

const (
	// uploadPiece is the unit of counting: a packet of HDFS.
	uploadPiece = 64 << 10
	// maxBurst limits the burst after a time without writes.
	maxBurst = 4 << 20
	// slowestStream is the maximum number of seconds for a piece. DataNodes wait a minute for the next packet.
	slowestStream = 15
)

// Limiter limits the writing of HFiles to HDFS: one is shared by all streams of
// a job. A nil one has no limits. It is safe for concurrent use.
type Limiter struct {
	rate    *rate.Limiter // nil: unlimited
	streams *semaphore.Weighted
	most    int64 // of streams
}

// NewLimiter returns nil if there are no limits.
func NewLimiter(o Options) *Limiter {
	if o == (Options{}) {
		return nil
	}
	u := &Limiter{}
	if o.Rate > 0 {
		burst := min(max(int(o.Rate/10), uploadPiece), maxBurst)
		u.rate = rate.NewLimiter(rate.Limit(o.Rate), burst)
		// The number of streams is limited so that a DataNode does not wait too long for any of them.
		u.most = int64(o.Rate) * slowestStream / uploadPiece
	}
	if o.Streams > 0 && (u.most == 0 || int64(o.Streams) < u.most) {
		u.most = int64(o.Streams)
	}
	u.streams = semaphore.NewWeighted(u.most)
	return u
}

// Enter waits until the files of another region may be written; Leave ends
// that. The files of one region are open together, so they count as one.
func (u *Limiter) Enter(ctx context.Context) error {
	if u == nil {
		return nil
	}
	if u.streams.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (u *Limiter) Leave() {
	if u != nil {
		u.streams.Release(1)
	}
}

// Writer returns a writer that counts the bytes written through it.
func (u *Limiter) Writer(ctx context.Context, w hdfsio.Writer) hdfsio.Writer {
	if u == nil || u.rate == nil {
		return w
	}
	return &limitedWriter{Writer: w, ctx: ctx, rate: u.rate}
}

// limitedWriter waits before each piece. It belongs to one goroutine.
type limitedWriter struct {
	hdfsio.Writer
	ctx  context.Context
	rate *rate.Limiter
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		piece := p[:min(len(p), uploadPiece)]
		if err := w.rate.WaitN(w.ctx, len(piece)); err != nil {
			if w.ctx.Err() != nil {
				err = context.Cause(w.ctx)
			}
			return written, err
		}
		n, err := w.Writer.Write(piece)
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}
