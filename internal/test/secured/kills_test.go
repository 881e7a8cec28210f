package secured

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// killed is the exit code of a process that SIGKILL has ended.
const killed = 128 + 9

// kills are jobs that are killed repeatedly after records of their journals, each time the command is repeated: an event
// and the number of its record in that run. Each job must end with every row, once.
var kills = [][]string{
	{"plan:1", "written:2", "sending:1", "loaded:3", "cleaned:1"},
	{"plan:1", "written:5", "written:1", "built:1", "prepared:1"},
	{"built:1", "sending:1", "loaded:2", "sending:1", "loaded:1"},
	{"prepared:1", "loaded:1", "loaded:2", "sending:1", "loaded:1"},
}

// testKills runs jobs that are killed; the quick part has one of them.
func testKills(t *testing.T, s *site) {
	e := small(t)[0]
	n := 0
	for i, events := range kills {
		if i > 0 && !full() {
			break
		}
		table := fmt.Sprintf("killed_%d", i)
		s.create(t, table, e.salts)
		asked, canceled := s.tokens(t)
		for j, event := range events {
			r := s.with("BULKLOAD_TEST_STOP_AFTER="+event).do(t, s.loading(e, table)...)
			if r.code != killed {
				t.Fatalf("job %d, run %d: exit code %d, not killed behind %s\n%s", i, j, r.code, event, r.err)
			}
			n++
		}
		s.load(t, e, table)
		s.holds(t, e, table)
		s.loadedOnce(t, table)
		nowAsked, nowCanceled := s.tokens(t)
		t.Logf("job %d: delegation tokens: %d, canceled: %d", i, nowAsked-asked, nowCanceled-canceled)
		// Tokens of killed runs expire by themselves; the last run cancels its own, if it loads.
		if left := nowAsked - asked - (nowCanceled - canceled); left > len(events) {
			t.Errorf("%d delegation tokens are left by %d kills", left, len(events))
		}
	}
	t.Logf("%d kills", n)
	s.tokenCanceled(t, e)
}

// testState keeps the state of a job in a table that the user may only read and write by a grant. The job is killed, and
// resumed where no files of the killed one exist.
func testState(t *testing.T, s *site) {
	const states, table = "job_states", "stated"
	e := small(t)[0]
	s.create(t, table, e.salts)
	args := s.loading(e, table, "--state", "hbase:"+states)
	if r := s.do(t, args...); r.code != 9 || !strings.Contains(r.err, "needs the right CREATE") {
		t.Errorf("a user who may not make the table of states: exit code %d: %s", r.code, r.err)
	}
	s.create(t, states, 1, "--family", "j,o")
	for i, event := range []string{"built:1", "sending:1", ""} {
		r := s.with("BULKLOAD_TEST_STOP_AFTER="+event, "XDG_CACHE_HOME="+t.TempDir()).do(t, args...)
		if want := map[bool]int{true: killed, false: 0}[event != ""]; r.code != want {
			t.Fatalf("run %d: exit code %d\n%s", i, r.code, r.err)
		}
	}
	s.holds(t, e, table)
	s.loadedOnce(t, table)
	if r := s.with("XDG_CACHE_HOME="+t.TempDir()).must(t, "status", "--state", "hbase:"+states); !strings.Contains(r.out, "done") {
		t.Errorf("status prints %s", r.out)
	}
	testStateOfOneFamily(t, s.as(testcluster.Nobody).with("XDG_CACHE_HOME="+t.TempDir()), e, states, table)
}

// testStateOfOneFamily checks that a user who may not read each family of the table of states is refused: HBase shows that user a job without its
// records, as if nothing had been done, and a job that is done would load its rows again.
func testStateOfOneFamily(t *testing.T, other *site, e export, states, table string) {
	other.adm(t, "grant", table, other.user, "RC")
	for _, rights := range [][2]string{{"RW", "W"}, {"W", "RW"}} {
		other.adm(t, "grant", states+"/o", other.user, rights[0])
		other.adm(t, "grant", states+"/j", other.user, rights[1])
		for _, args := range [][]string{other.loading(e, table), {"status"}, {"clean"}} {
			if r := other.do(t, append(args, "--state", "hbase:"+states)...); r.code != 9 || !strings.Contains(r.err, "needs the right READ") {
				t.Errorf("%s with the rights %s on the families o and j: exit code %d: %s", args[0], rights, r.code, r.err)
			}
		}
	}
	other.loadedOnce(t, table)
}

// tokens counts the delegation tokens that were issued to the user, and those that were canceled.
func (s *site) tokens(t testing.TB) (asked, canceled int) {
	t.Helper()
	return len(s.audited(t, s.user, "getDelegationToken")), len(s.audited(t, s.user, "cancelDelegationToken"))
}

// tokenCanceled runs an undisturbed job: it gets one token, and cancels it.
func (s *site) tokenCanceled(t *testing.T, e export) {
	t.Helper()
	if !s.c.Security().Kerberos || s.user != testcluster.Loader {
		return
	}
	const table = "token"
	s.create(t, table, e.salts)
	asked, canceled := s.tokens(t)
	s.load(t, e, table)
	nowAsked, nowCanceled := s.tokens(t)
	if nowAsked-asked != 1 || nowCanceled-canceled != 1 {
		t.Errorf("a job has asked for %d delegation tokens and canceled %d, want 1 and 1", nowAsked-asked, nowCanceled-canceled)
	}
}
