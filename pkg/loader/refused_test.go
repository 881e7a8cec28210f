package loader

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestRefusedQuorum ends a first look-up at once where every server of the quorum refuses connections, and names them. A
// quorum that has answered before is waited for, as it may be starting again.
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
