package secured

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/bench/data"
	"bulkload/internal/testcluster"
)

// TestTickets has jobs that take several times as long as a ticket lives: by a keytab, by a ticket cache that another
// program renews, and by one that nobody does.
func TestTickets(t *testing.T) {
	testcluster.SecuredAll(t)
	kind := testcluster.AtLevel(testcluster.Privacy)
	kind.TicketLife = time.Minute
	s := at(t, kind)
	e := made(t, data.Check, data.CSV, 10, 80_000)
	// About 14 MiB take four minutes.
	slow := []string{"--upload-limit", "64KiB", "--upload-streams", "1"}
	// Tables are made before: a subtest that runs beside others can not use their Java client.
	for _, table := range []string{"keytab", "renewed", "expired"} {
		s.create(t, "tickets_"+table, e.salts)
	}
	if !t.Run("jobs", func(t *testing.T) {
		t.Run("keytab", func(t *testing.T) {
			t.Parallel()
			before := s.issued(t)
			r := s.at(t).load(t, e, "tickets_keytab", slow...)
			t.Logf("%.0f s, %d tickets issued to all", r.took.Seconds(), s.issued(t)-before)
			lasted(t, r)
		})
		t.Run("renewed cache", func(t *testing.T) {
			t.Parallel()
			own := s.at(t).cached(t)
			own.kinit(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() {
				for {
					select {
					case <-ctx.Done():
						return
					case <-time.After(20 * time.Second):
						own.kinit(t)
					}
				}
			}()
			lasted(t, own.load(t, e, "tickets_renewed", slow...))
		})
		t.Run("expired cache", func(t *testing.T) {
			t.Parallel()
			own := s.at(t).cached(t)
			own.kinit(t)
			r := own.do(t, own.loading(e, "tickets_expired", slow...)...)
			t.Logf("exit code %d after %.0f s: %s", r.code, r.took.Seconds(), r.message())
			if r.code == 0 || !strings.Contains(r.message(), "kinit") {
				t.Error("a job outlives the tickets of a cache, or does not say how to renew them")
			}
			own.kinit(t)
			own.load(t, e, "tickets_expired")
		})
	}) {
		return
	}
	for _, table := range []string{"keytab", "renewed", "expired"} {
		s.holds(t, e, "tickets_"+table)
	}
}

// lasted says that a job took longer than three lives of a ticket.
func lasted(t *testing.T, r ended) {
	t.Helper()
	if r.took < 3*time.Minute {
		t.Errorf("the job took %s: it shows nothing about renewal", r.took)
	}
}

// at is the site with a state of its own.
func (s *site) at(t *testing.T) *site {
	other := *s
	other.dir = t.TempDir()
	return &other
}

// cached is the site with a ticket cache instead of a keytab.
func (s *site) cached(t *testing.T) *site {
	return s.with("BULKLOAD_PRINCIPAL=", "BULKLOAD_KEYTAB=", "KRB5CCNAME=FILE:"+filepath.Join(s.dir, "ccache"))
}

// kinit has MIT's client fill the ticket cache of the site.
func (s *site) kinit(t *testing.T) {
	cmd := exec.Command("kinit", "-k", "-t", s.c.Keytab(s.user), testcluster.Principal(s.user))
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+s.c.Krb5Conf(), "KRB5CCNAME=FILE:"+filepath.Join(s.dir, "ccache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("kinit: %v\n%s", err, out)
	}
}

// issued counts the ticket-granting tickets that the KDC has given to the user.
func (s *site) issued(t testing.TB) (n int) {
	for line := range strings.Lines(read(t, s.c.Daemon(testcluster.KDC).LogPath())) {
		if strings.Contains(line, "AS_REQ") && strings.Contains(line, "ISSUE") && strings.Contains(line, s.user+"@") {
			n++
		}
	}
	return n
}
