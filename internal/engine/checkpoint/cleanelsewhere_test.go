package checkpoint

import (
	"fmt"
	"os"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestCleanElsewhere checks that the staging directory of a job with its state elsewhere is not reported as abandoned, and not removed, while the
// job's process runs on this host or may have sent files from another one.
func TestCleanElsewhere(t *testing.T) {
	host, err := os.Hostname()
	testcheck.Must(t, err)
	attempt := func(pid int, host string) string {
		return fmt.Sprintf(`"event":"attempt","attempt":1,"pid":%d,"host":%q`, pid, host)
	}
	plan := `"event":"plan","job":"000000000001","table":"t"`
	for what, x := range map[string]struct {
		events []string
		want   history.Status
		remove bool
	}{
		"this process":               {[]string{plan, attempt(os.Getpid(), host)}, history.JobRunning, false},
		"a process that has ended":   {[]string{plan, attempt(1<<22+1, host)}, history.JobAbandoned, true},
		"another host":               {[]string{plan, attempt(os.Getpid(), host+".other")}, history.JobUnknown, true},
		"this process, files sent":   {[]string{plan, attempt(os.Getpid(), host), sendingTwo}, history.JobRunning, false},
		"another host, files sent":   {[]string{plan, attempt(1, host+".other"), sendingTwo}, history.JobUnresolved, false},
		"another host, it has ended": {[]string{plan, attempt(1, host+".other"), `"event":"failed","error":"no"`}, history.JobAbandoned, true},
		"without an attempt":         {[]string{plan}, history.JobAbandoned, true},
	} {
		m := hdfsio.NewMemory()
		const dir = "/tmp/bulkload-tina/t-1700000000001-0000000000000001"
		testcheck.Must(t, m.MkdirAll(t.Context(), dir, 0o777))
		w, err := m.Create(t.Context(), dir+"/_journal.jsonl", hdfsio.CreateOptions{})
		testcheck.Must(t, err)
		_, err = w.Write([]byte(journalText(0, x.events...)))
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
		c := &cleaner{options: CleanOptions{OlderThan: time.Hour}, now: time.Now().Add(2 * time.Hour), result: &Cleaning{}}
		testcheck.Must(t, c.cleanUnknown(t.Context(), m, hdfsio.Location{Path: dir}))
		if d := c.result.Dirs; len(d) != 1 || d[0].Status != x.want || d[0].Remove != x.remove {
			t.Errorf("%s: %+v", what, d)
		}
	}
}
