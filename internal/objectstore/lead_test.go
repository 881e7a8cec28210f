package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bulkload/internal/test/testcheck"
)

// rangesOf answers requests of ranges of an object that consists of size times the letter x.
func rangesOf(size int64) trip {
	return func(r *http.Request) (*http.Response, error) {
		var from, last int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &last); err != nil {
			return nil, err
		}
		return response(r, http.StatusPartialContent, strings.Repeat("x", int(last-from+1)), "Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, last, size)), nil
	}
}

// TestStopWhileALeadHangs checks that a reader ends with its context although another reader's Store requests the bytes.
func TestStopWhileALeadHangs(t *testing.T) {
	keys(t)
	o := object{key: "x", size: 2 * maxRange}
	answer := rangesOf(o.size)
	s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", maxRange)) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return answer(r)
	})
	first := newFile(t.Context(), s, o)
	first.Within(0, maxRange)
	_, err := io.ReadFull(first, make([]byte, maxRange))
	testcheck.Must(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	second := newFile(ctx, s, o)
	second.Within(maxRange, 2*maxRange)
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := second.ReadAt(make([]byte, 10), maxRange); err != stopped {
		t.Errorf("a read after a stop: %v", err)
	}
	testcheck.Must(t, errors.Join(second.Close(), first.Close()))
}

// TestOldErrors checks that a range that was requested ahead, and failed while nobody read, is requested again.
func TestOldErrors(t *testing.T) {
	keys(t)
	for _, within := range []bool{false, true} { // of one file, or the lead of the next part
		synctest.Test(t, func(t *testing.T) {
			o := object{key: "x", size: 3 * maxRange}
			answer := rangesOf(o.size)
			var out atomic.Bool
			s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
				if out.Load() && !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
					return response(r, http.StatusServiceUnavailable, ""), nil
				}
				return answer(r)
			})
			out.Store(true)
			f := newFile(t.Context(), s, o)
			end := o.size
			if within {
				end = maxRange
			}
			f.Within(0, end)
			_, err := io.ReadFull(f, make([]byte, maxRange))
			testcheck.Must(t, err)
			synctest.Wait()
			out.Store(false)
			if within {
				testcheck.Must(t, f.Close())
				f = newFile(t.Context(), s, o)
				f.Within(maxRange, o.size)
			}
			if n, err := f.ReadAt(make([]byte, maxRange), maxRange); n != maxRange || err != nil {
				t.Errorf("within %v: after the outage: %d bytes, %v", within, n, err)
			}
			testcheck.Must(t, f.Close())
		})
	}
}
