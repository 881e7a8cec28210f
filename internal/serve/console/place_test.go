package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"
	"bulkload/pkg/setting"
)

// placeOf returns the place of a directory, which is read at each look.
func placeOf(dir string) *Place {
	return New(Options{Name: dir, Every: 1, Control: true, Current: func(context.Context) (string, error) { return dir, nil }})
}

// TestPlaceThatHangs checks that a place that does not answer does not block pages, and that one goroutine reads it
// at a time.
func TestPlaceThatHangs(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	states.Done("t", "night", 5, time.Second)
	hang, hangs := make(chan struct{}), make(chan struct{}, 100)
	answers := make(chan struct{}, 1)
	answers <- struct{}{}
	p := New(Options{Name: "x", Every: 1, Patience: time.Millisecond, Current: func(context.Context) (string, error) {
		select {
		case <-answers:
		default:
			hangs <- struct{}{}
			<-hang
		}
		return states.Dir, nil
	}})
	testcheck.Eventually(t, time.Minute, "it is read once", func() (bool, any) { v := p.Look(t.Context()); return len(v.Jobs) == 1, v })
	for range 20 {
		if v := p.Look(t.Context()); len(v.Jobs) != 1 || v.Seen.IsZero() {
			t.Fatalf("what was seen is gone: %+v", v)
		}
	}
	if len(hangs) > 1 {
		t.Errorf("it is read by %d at a time", len(hangs))
	}
	p.mu.Lock()
	p.began = p.began.Add(-time.Minute)
	p.mu.Unlock()
	if v := p.Look(t.Context()); v.Away.IsZero() || !strings.Contains(v.Why, "not answered") {
		t.Errorf("it is not out of reach: %+v", v)
	}
	close(hang)
	testcheck.Eventually(t, time.Minute, "it is back", func() (bool, any) { v := p.Look(t.Context()); return v.Away.IsZero(), v })
}

// TestPlaceThatFails checks that the time of the first failure is kept, not that of the last.
func TestPlaceThatFails(t *testing.T) {
	failed := errors.New("ZooKeeper is away")
	p := New(Options{Name: "x", Every: 1, Current: func(context.Context) (string, error) { return "", failed }})
	first := p.Look(t.Context())
	again := p.Look(t.Context())
	if first.Away.IsZero() || !again.Away.Equal(first.Away) || again.Why != failed.Error() || !again.Seen.IsZero() {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// TestTrends checks that the nights of a table are in order, that their extremes are given in words, and that the
// line is within its field.
func TestTrends(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	for i := range 35 {
		states.Done("b", string(rune('A'+i)), int64(1000+i), time.Duration(i)*time.Second)
	}
	states.Done("a", "one", 7, time.Second)
	states.Failed("a", "two", "x")
	all := Trends(placeOf(states.Dir).Look(t.Context()).Jobs)
	if len(all) != 2 || all[0].Table != "a" || len(all[0].Nights) != 1 || all[0].Rows() != nil || len(all[1].Nights) != maxNights {
		t.Fatalf("%+v", all)
	}
	if p := all[1].Rows(); p.Text != "rows of the last 30 jobs: 1,005 to 1,034, 1,034 in the last one" || !strings.HasPrefix(p.Points, "3.0,25.0 ") || p.X != "117.0" || p.Y != "3.0" {
		t.Errorf("%+v", p)
	}
	if n := Of(nil, "c"); n.Table != "c" || n.Nights != nil {
		t.Errorf("%+v", n)
	}
	if got := setting.Thousands(-1234567) + setting.Thousands(999) + Span(59.94) + Span(61); got != "-1,234,56799959.9 s1m1s" {
		t.Error(got)
	}
}

// TestStartAgain checks that the recorded command runs in its directory, with its day, and its settings instead of
// the service's.
func TestStartAgain(t *testing.T) {
	if to := os.Getenv("BULKLOAD_CONSOLE_STARTED"); to != "" {
		dir, _ := os.Getwd()
		testcheck.Must(t, os.WriteFile(to, []byte(strings.Join(os.Args[1:], " ")+"\n"+dir+"\n"+os.Getenv("BULKLOAD_LISTEN")), 0o600))
		return
	}
	t.Setenv("BULKLOAD_LISTEN", ":1") // a setting of the service
	states := teststate.States{T: t, Dir: t.TempDir()}
	dir := states.Failed("t", "night", "hdfs is full")
	p := placeOf(states.Dir)
	state := func() *status.State {
		s, _ := p.Job(t.Context(), filepath.Base(dir))
		return s
	}
	refuses := func(why string) {
		t.Helper()
		if err := p.Do(t.Context(), state(), Start); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %s", err, why)
		}
	}
	refuses("not recorded")
	host, err := os.Hostname()
	testcheck.Must(t, err)
	to := filepath.Join(t.TempDir(), "started")
	c := status.Command{Schema: 1, Args: []string{"-test.run=^TestStartAgain$"}, Dir: t.TempDir(), Host: host, UID: os.Getuid(), Env: map[string]string{"BULKLOAD_CONSOLE_STARTED": to}}
	for why, change := range map[string]func(*status.Command){
		"on elsewhere":            func(c *status.Command) { c.Host = "elsewhere" },
		"by user":                 func(c *status.Command) { c.UID++ },
		"reads a stream: run it":  func(c *status.Command) { c.Unfit = "reads a stream" },
		"directory of its":        func(c *status.Command) { c.Dir += "/gone" },
		"ended with exit status ": func(c *status.Command) { c.Args = []string{"-test.nothing"} },
	} {
		other := c
		change(&other)
		testcheck.Must(t, other.Write(dir))
		refuses(why)
	}
	testcheck.Must(t, c.Write(dir))
	testcheck.Must(t, p.Do(t.Context(), state(), Start))
	testcheck.Eventually(t, time.Minute, "the command ran", func() (bool, any) {
		b, err := os.ReadFile(to)
		return err == nil && string(b) == c.Args[0]+"\n"+c.Dir+"\n", string(b)
	})
	states.Done("t", "done", 1, time.Second)
	v := p.Look(t.Context())
	i := slices.IndexFunc(v.Jobs, func(s *status.State) bool { return s.State == history.JobDone })
	if err := p.May(v.Jobs[i], Start); err == nil || !strings.Contains(err.Error(), "would do nothing") {
		t.Errorf("a job that is done is started: %v", err)
	}
}

// TestSignalsNeedTheLock checks that a process with the job's process id but without its lock gets no signal.
func TestSignalsNeedTheLock(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	job := states.Running("t", "night")
	p := placeOf(states.Dir)
	may := func() error { return p.May(p.Look(t.Context()).Jobs[0], Stop) }
	testcheck.Must(t, may())
	lock := filepath.Join(job.Dir, journal.LockName)
	text, err := os.ReadFile(lock)
	testcheck.Must(t, err)
	testcheck.Must(t, os.Remove(lock)) // now the lock is another file
	testcheck.Must(t, os.WriteFile(lock, text, 0o600))
	if err := may(); err == nil || !strings.Contains(err.Error(), "does not hold the job's lock") {
		t.Errorf("it may be stopped: %v", err)
	}
}
