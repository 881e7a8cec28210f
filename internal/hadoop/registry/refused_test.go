package registry

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testcheck"
)

// TestRefusedQuorum checks that a first lookup ends at once if every server of the quorum refuses connections, with an
// error that names them. A quorum that has answered before is waited for, since it may be restarting.
func TestRefusedQuorum(t *testing.T) {
	quorum := testcheck.ClosedAddress(t) + "," + testcheck.ClosedAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	o := Options{Quorum: quorum, Root: "/hbase", DialTimeout: time.Minute, Timeout: time.Hour, Log: slog.New(slog.DiscardHandler)}
	client := hbaserpc.NewClient(hbaserpc.Options{})
	_, err := New(client, o).Meta(ctx)
	if want := "connection refused by " + strings.ReplaceAll(quorum, ",", ", "); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, ok := errors.AsType[*LookupError](err); !ok {
		t.Errorf("%T", err)
	}
	o.Timeout = 300 * time.Millisecond
	r := New(client, o)
	r.answered = true
	if _, err := r.Meta(ctx); err == nil || !strings.Contains(err.Error(), "no answer within 300ms") {
		t.Errorf("error %v of a quorum that answered before", err)
	}
}
