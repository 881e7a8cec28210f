package secured

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestTickets runs jobs that take several times as long as the lifetime of a ticket: by a keytab, by a ticket cache that
// another program renews, and by one that is not renewed. When all their first tickets have expired the region server
// restarts, so that each job must log in again: an open connection outlives its tickets.
func TestTickets(t *testing.T) {
	testcluster.SecuredAll(t)
	kind := testcluster.AtLevel(testcluster.Privacy)
	kind.TicketLife, kind.RenewLife = time.Minute, time.Minute // the program renews a ticket as long as the KDC allows
	s := at(t, kind)
	e := made(t, data.Check, data.CSV, 10, 80_000)
	// About 14 MiB take four minutes.
	slow := []string{"--upload-limit", "64KiB", "--upload-streams", "1"}
	tables := []string{"tickets_keytab", "tickets_renewed", "tickets_expired"}
	sites := []*site{s.at(t), s.at(t).cached(t), s.at(t).cached(t)}
	for _, table := range tables {
		s.create(t, table, e.salts)
	}
	sites[1].kinit(t)
	sites[2].kinit(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Second):
				sites[1].kinit(t)
			}
		}
	}()
	before, began := s.issued(t), time.Now()
	results := make([]ended, len(sites))
	var jobs sync.WaitGroup
	for i, own := range sites {
		jobs.Go(func() { results[i] = own.do(t, own.loading(e, tables[i], slow...)...) })
	}
	select {
	case <-time.After(kind.TicketLife + testcluster.ShortSkew + 10*time.Second):
	case <-t.Context().Done():
	}
	s.restart(t, testcluster.RegionServer)
	jobs.Wait()
	stop()
	t.Logf("%.0f s, %d tickets issued to all", time.Since(began).Seconds(), s.issued(t)-before)
	for i, r := range results[:2] {
		if r.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", tables[i], r.code, r.err)
		}
		if r.took < 3*kind.TicketLife {
			t.Errorf("the job of %s took %s: it shows nothing about renewal", tables[i], r.took)
		}
	}
	r := results[2]
	t.Logf("exit code %d after %.0f s: %s", r.code, r.took.Seconds(), r.message())
	if r.code != notFit || !strings.Contains(r.message(), "kinit") {
		t.Error("a job logs in by tickets that have expired, or is not refused with how to renew them")
	}
	sites[2].kinit(t)
	sites[2].load(t, e, tables[2])
	for i, table := range tables {
		s.holds(t, e, table)
		sites[i].loadedOnce(t, table)
	}
}

// testServiceKeys gives HBase another key, and no longer the old one, while a job is stopped that has tickets for the old one.
func testServiceKeys(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "service_keys"
	s.create(t, table, e.salts)
	cmd := s.command(t, s.loading(e, table, "--upload-limit", "256KiB", "--upload-streams", "1")...)
	log := &waiting{want: "phase=write", seen: make(chan struct{})}
	cmd.Stderr = log
	testcheck.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-log.seen:
	case err := <-ended:
		t.Fatalf("%v\n%s", err, log.text.String())
	}
	testcheck.Must(t, cmd.Process.Signal(syscall.SIGSTOP))
	keytab := s.c.Keytab(testcluster.HBaseAdmin)
	testcheck.Must(t, os.Remove(keytab))
	for _, query := range [][]string{{"cpw", "-randkey", testcluster.HBaseAdmin}, {"ktadd", "-norandkey", "-k", keytab, testcluster.HBaseAdmin}} {
		_, err := s.c.Kerberos(t.Context(), nil, "kadmin.local", query...)
		testcheck.Must(t, err)
	}
	testcheck.Must(t, s.c.Daemon(testcluster.Master).Restart(t.Context()))
	s.restart(t, testcluster.RegionServer)
	testcheck.Must(t, cmd.Process.Signal(syscall.SIGCONT))
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, log.text.String())
	}
	s.holds(t, e, table)
	s.loadedOnce(t, table)
}

// at returns the site with its own state.
func (s *site) at(t *testing.T) *site {
	other := *s
	other.dir = t.TempDir()
	return &other
}

// cached returns the site with a ticket cache instead of a keytab.
func (s *site) cached(t *testing.T) *site {
	return s.with("BULKLOAD_PRINCIPAL=", "BULKLOAD_KEYTAB=", "KRB5CCNAME=FILE:"+filepath.Join(s.dir, "ccache"))
}

// kinit fills the ticket cache of the site with MIT's client.
func (s *site) kinit(t *testing.T) {
	cmd := exec.Command("kinit", "-k", "-t", s.c.Keytab(s.user), testcluster.Principal(s.user))
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+s.c.Krb5Conf(), "KRB5CCNAME=FILE:"+filepath.Join(s.dir, "ccache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("kinit: %v\n%s", err, out)
	}
}

// issued counts the ticket-granting tickets that the KDC has issued to the user.
func (s *site) issued(t testing.TB) (n int) {
	for line := range strings.Lines(read(t, s.c.Daemon(testcluster.KDC).LogPath())) {
		if strings.Contains(line, "AS_REQ") && strings.Contains(line, "ISSUE") && strings.Contains(line, s.user+"@") {
			n++
		}
	}
	return n
}
