package rekey_test

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
)

// chosen copies a part of the rows and of their cells, and is killed meanwhile. It checks that the same command resumes, that another choice is
// refused, and that HBase's own client sees the cells that a Scan of the old table with the same bounds returns. A second pass over the same rows
// adds the rest.
func (w *rekeying) chosen(t *testing.T, since int64) {
	flags := []string{"--to=" + w.new, "--key=" + newKey, "--start-row=2", "--stop-row=5", "--only=f:remarks,f:rule_no"}
	until := append(flags, fmt.Sprintf("--until=%d", since))
	for _, event := range []history.Event{history.EventRekey, history.EventBuilt} {
		if o := w.rekey(string(event), 0, until...); o.code != 137 {
			t.Fatalf("exit code %d\n%s", o.code, o.stderr)
		}
		if o := w.rekey("", 0, flags...); o.code != 3 || !strings.Contains(o.stderr, "the job began to copy start_row 2, stop_row 5, until") {
			t.Fatalf("another choice: exit code %d\n%s", o.code, o.stderr)
		}
	}
	o := w.rekey("", 0, until...)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	all := w.java("versions", w.old)
	want, _ := w.wantOf(all, w.java("chosen", w.old, "3", "0", fmt.Sprint(since), "f:remarks,f:rule_no", "2", "5"))
	if w.judge(want); len(want) < 500 {
		t.Errorf("%d cells are chosen", len(want))
	}
	if r := o.result(t); r.Rekey.Next >= since || r.Manifest.Records >= int64(w.rows) {
		t.Errorf("%+v", r)
	}
	if o := w.rekey("", 0, flags...); o.code != 3 || !strings.Contains(o.stderr, "requested now: start_row 2, stop_row 5, only f:remarks,f:rule_no (") {
		t.Errorf("another choice than that of a job that is done: exit code %d\n%s", o.code, o.stderr)
	}
	if o := w.rekey("", 0, append(flags, fmt.Sprintf("--since=%d", since))...); o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	want, _ = w.wantOf(all, w.java("chosen", w.old, "3", "0", "0", "f:remarks,f:rule_no", "2", "5"))
	w.judge(want)
	w.java("truncate", w.new)
	if o := w.rekey("", 0, "--to="+w.new, "--key="+newKey, "--versions=1", "--row-prefix=7", "--job-id=newest"); o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	want, _ = w.wantOf(all, w.java("chosen", w.old, "1", "0", "0", "-", "7", "8"))
	w.judge(want)
	w.nothingLeft()
	w.java("drop", w.new)
}
