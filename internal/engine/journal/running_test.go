package journal

import (
	"os"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestRunningAfterAStepOfTheClock checks that an owner is found by the start of its process in ticks since boot, which a step of the clock does not
// change, also through the lock file, and that an owner of version 0.1, without ticks, is found by its time.
func TestRunningAfterAStepOfTheClock(t *testing.T) {
	if _, ok := startTicks(os.Getpid()); !ok {
		t.Skip("the system has no /proc")
	}
	self, err := Self(time.Now())
	testcheck.Must(t, err)
	for name, tt := range map[string]struct {
		since time.Time
		start int64
		runs  bool
	}{
		"steady":                   {self.Since, self.Start, true},
		"stepped by an hour":       {self.Since.Add(-time.Hour), self.Start, true},
		"stepped back by an hour":  {self.Since.Add(time.Hour), self.Start, true},
		"another process":          {self.Since, self.Start - 1, false},
		"version 0.1":              {self.Since, 0, true},
		"another, version 0.1":     {self.Since.Add(-time.Hour), 0, false},
		"another after the reboot": {self.Since.Add(-time.Hour), self.Start + 7, false},
	} {
		o := Owner{PID: self.PID, Host: self.Host, Since: tt.since, Start: tt.start}
		if runs, here := o.Running(); runs != tt.runs || !here {
			t.Errorf("%s: runs %v, here %v", name, runs, here)
		}
	}
	dir := t.TempDir()
	l, err := TryLock(dir)
	testcheck.Must(t, err)
	if o, err := LastOwner(dir); err != nil || o.Start != self.Start {
		t.Errorf("%+v, %v, want the start %d", o, err, self.Start)
	}
	testcheck.Must(t, l.Release())
}
