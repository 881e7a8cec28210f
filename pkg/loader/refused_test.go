package loader

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestRefusedQuorum checks that a first lookup ends at once if every server of the quorum refuses connections, with an
// error that names them. A quorum that has answered before is waited for, since it may be restarting.
func TestRefusedQuorum(t *testing.T) {
	quorum := testcheck.ClosedAddress(t) + "," + testcheck.ClosedAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cfg := Config{Quorum: quorum, EffectiveUser: "x", LookupTimeout: time.Hour}
	_, err := Dial(ctx, cfg, nil)
	if want := "connection refused by " + strings.ReplaceAll(quorum, ",", ", "); err == nil || !strings.Contains(err.Error(), want) || !Unavailable(err) {
		t.Errorf("error %v, want %q", err, want)
	}
	c := newCluster(cfg.withDefaults(), slog.New(slog.DiscardHandler))
	c.answered = true
	c.cfg.LookupTimeout = 300 * time.Millisecond
	if _, err := c.metaServer(ctx); err == nil || !strings.Contains(err.Error(), "no answer within 300ms") {
		t.Errorf("error %v of a quorum that answered before", err)
	}
}
