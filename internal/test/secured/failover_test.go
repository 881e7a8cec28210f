package secured

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestFailover kills the active NameNode of two under Kerberos at three moments: while HFiles are written, while they are
// loaded, and between a killed run and its resumption. It has its own cluster, and runs before any other is started.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a secured test cluster, which -short leaves out")
	}
	testcluster.SecuredAll(t)
	// Not the test's context, which ends before the cluster does.
	c, err := testcluster.Start(context.Background(), testcluster.Options{HA: true, Security: sealed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := on(t, c)
	e := made(t, data.Check, data.CSV, 10, 20_000)
	for _, m := range []struct {
		event string
		slow  []string
		kill  bool
	}{
		{"written", []string{"--upload-limit", "1MiB", "--upload-streams", "1"}, false},
		{"sending", []string{"--load-concurrency", "1"}, false},
		{"built", nil, true},
	} {
		t.Run(m.event, func(t *testing.T) {
			table := "failover_" + m.event
			own := s.at(t)
			own.create(t, table, e.salts)
			active, err := c.ActiveNameNode(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			failover := func() {
				if err := c.Daemon(active).Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Failover(t.Context(), active); err != nil {
					t.Fatal(err)
				}
			}
			args := own.loading(e, table, m.slow...)
			if m.kill {
				if r := own.with("BULKLOAD_TEST_STOP_AFTER="+m.event).do(t, args...); r.code != killed {
					t.Fatalf("exit code %d: %s", r.code, r.message())
				}
				failover()
				own.must(t, args...)
			} else {
				cmd := own.command(t, args...)
				var log bytes.Buffer
				cmd.Stderr = &log
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				own.await(t, m.event)
				failover()
				err := cmd.Wait()
				t.Logf("the run that saw it: %v", err)
				if err != nil {
					t.Log(ended{err: log.String()}.message())
					own.must(t, args...) // as an operator would
				}
			}
			if err := c.Daemon(active).Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			own.holds(t, e, table)
			own.loadedOnce(t, table)
		})
	}
}

// await waits until the one journal of the site has an event.
func (s *site) await(t *testing.T, event string) {
	t.Helper()
	testcheck.Eventually(t, mostTime, "the journal has "+event, func() (bool, any) {
		names, err := filepath.Glob(filepath.Join(s.dir, "state", "*", "journal.jsonl"))
		testcheck.Must(t, err)
		if len(names) != 1 {
			return false, names
		}
		text := read(t, names[0])
		return strings.Contains(text, fmt.Sprintf(`"event":%q`, event)), text
	})
}
