package loader

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRegionsAreReadOnceForAll checks that many scans that find the same region list stale share one read, and that a canceled scan does not end it
// for the others.
func TestRegionsAreReadOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		m := &regionMap{read: func(ctx context.Context, _ TableName) ([]Region, error) {
			reads.Add(1)
			<-time.After(time.Second)
			if err := ctx.Err(); err != nil {
				t.Errorf("the reading ended with the context of who asked: %v", err)
			}
			return regionsAt("m"), nil
		}}
		old := regionsAt("m")
		table := TableName{"default", "t"}
		m.put(table, old)
		var wg sync.WaitGroup
		var gone atomic.Int32
		for i := range 200 {
			wg.Go(func() {
				l := &locator{regions: m, table: table}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == 0 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				if _, err := l.locate(ctx, []byte("x"), false); err != nil {
					t.Error(err)
				}
				if _, err := l.locate(ctx, []byte("x"), true); errors.Is(err, context.Canceled) {
					gone.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if reads.Load() != 1 || gone.Load() != 1 {
			t.Errorf("%d readings, %d gone; want 1 and 1", reads.Load(), gone.Load())
		}
		// a late scan with the old list takes the new one
		late := &locator{regions: m, table: table, used: old}
		if _, err := late.locate(t.Context(), []byte("a"), true); err != nil || reads.Load() != 1 {
			t.Errorf("%v, %d readings", err, reads.Load())
		}
		// a scan that finds the new list stale makes it read again
		if _, err := late.locate(t.Context(), []byte("a"), true); err != nil || reads.Load() != 2 {
			t.Errorf("%v, %d readings", err, reads.Load())
		}
	})
}

// TestDisabledTableIsAnErrorAtOnce checks that the state of a table is queried if its regions are no longer at their servers.
func TestDisabledTableIsAnErrorAtOnce(t *testing.T) {
	m := &regionMap{
		read:    func(context.Context, TableName) ([]Region, error) { return regionsAt(), nil },
		enabled: func(context.Context, TableName) error { return ErrTableDisabled },
	}
	l := &locator{regions: m, prompt: true}
	if _, err := l.locate(t.Context(), nil, false); err != nil {
		t.Fatal(err)
	}
	if _, err := l.locate(t.Context(), nil, true); !errors.Is(err, ErrTableDisabled) {
		t.Errorf("got %v", err)
	}
	patient := &locator{regions: m, used: l.used}
	if _, err := patient.locate(t.Context(), nil, true); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestRetriesWarnOnce checks that the log has one warning for each server, or call, and interval, with the number of other failures, if many callers
// fail in the same way at the same time.
func TestRetriesWarnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		c := newCluster(Config{RetryTimeout: time.Minute}, slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn})))
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				began := time.Now()
				for attempt := range 3 {
					if err := c.pause(t.Context(), began, attempt, "scan t", errNotAssigned); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, fault := range []error{&ConnectionError{Addr: "rs1:16020", Err: io.EOF}, &ConnectionError{Addr: "rs2:16020", Err: io.EOF}, &ConnectionError{Addr: "rs1:16020", Err: io.EOF}} {
			if err := c.pause(t.Context(), time.Now(), 1, "scan t", fault); err != nil {
				t.Error(err)
			}
		}
		<-time.After(2 * warnEvery)
		if err := c.pause(t.Context(), time.Now(), 5, "scan t", errNotAssigned); err != nil {
			t.Error(err)
		}
		if n := strings.Count(text.String(), "retrying"); n != 4 || len(c.warned) != 1 || !strings.Contains(text.String(), "try=6 ") || !strings.Contains(text.String(), "others=299") {
			t.Errorf("%d lines, %d kept:\n%s", n, len(c.warned), text.String())
		}
	})
}

// TestLargeRow checks that a row above the size limit ends the scan, in one result or in parts.
func TestLargeRow(t *testing.T) {
	cell := func(q string) []byte {
		return appendCell(nil, "r", Cell{Family: []byte("f"), Qualifier: []byte(q), Value: make([]byte, 40)})
	}
	for most, want := range map[int64]error{0: nil, 200: nil, 100: ErrRowTooLarge, 30: ErrRowTooLarge} {
		a := assembler{most: most, emit: func(Row) error { return nil }}
		var err error
		for _, q := range []string{"a", "b", "c"} {
			if err == nil {
				_, err = a.add(cell(q), 1, true)
			}
		}
		if !errors.Is(err, want) {
			t.Errorf("of %d bytes: %v, want %v", most, err, want)
		}
		if large, ok := errors.AsType[*RowTooLargeError](err); ok != (want != nil) || ok && string(large.Key) != "r" {
			t.Errorf("of %d bytes: the error is %#v", most, err)
		}
	}
}
