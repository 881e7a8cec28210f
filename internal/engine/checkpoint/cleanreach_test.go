package checkpoint

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestCleanWithoutNameNode checks that a NameNode that is gone does not keep a job whose journal says that its directory was removed, that it keeps one
// whose directory may exist, unless Force is set, and that the reason names the directory. The NameNode is asked once, not once for each job.
func TestCleanWithoutNameNode(t *testing.T) {
	gone := "hdfs://" + testcheck.ClosedAddress(t)
	done, removed := `"event":"done"`, `"event":"done","staging_directory":"removed"`
	prepared := `"event":"prepared","token":"` + gone + `/hbase/staging/x"`
	const old, young = 30 * 24 * time.Hour, time.Minute
	var log bytes.Buffer
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	defer env.Close()
	var silent map[string]error
	for _, c := range []struct {
		name    string
		age     time.Duration
		records []string // after the plan
		o       CleanOptions
		remove  bool
		says    string // the reason
		err     string // empty: none
	}{
		{"removed by the journal", old, []string{removed}, CleanOptions{Remove: true}, true, "last changed 30 days ago; its journal says that STAGING was removed, and HDFS does not answer", ""},
		{"removed by the journal, listed", old, []string{removed}, CleanOptions{}, true, "; its journal says that STAGING was removed", ""},
		{"removed by the journal, young", young, []string{removed}, CleanOptions{Remove: true}, false, "last changed 1 min ago; kept", ""},
		{"removed, but not HBase's", old, []string{prepared, removed}, CleanOptions{Remove: true}, false, "its directory " + gone + "/hbase/staging/x may be left: run clean again when HDFS answers (`force` removes the state without it)", "/hbase/staging/x cannot be looked at: "},
		{"both, forced", old, []string{prepared, done}, CleanOptions{Remove: true, Force: true}, true, "/hbase/staging/x may be left: ", ""},
		{"not recorded", old, []string{done}, CleanOptions{Remove: true}, false, "its directory STAGING may be left: run clean again when HDFS answers (`force` removes the state without it)", "STAGING cannot be looked at: "},
		{"not recorded, forced", old, []string{done}, CleanOptions{Remove: true, Force: true}, true, "last changed 30 days ago; STAGING may be left: ", ""},
		{"abandoned", old, nil, CleanOptions{Remove: true}, false, "its directory STAGING may be left", "STAGING cannot be looked at: "},
		{"abandoned, young", young, nil, CleanOptions{Remove: true}, false, "last changed 1 min ago; kept", "STAGING cannot be looked at: "},
		{"abandoned, forced", old, nil, CleanOptions{Remove: true, Force: true}, true, "STAGING may be left: ", ""},
		{"an export", old, []string{`"event":"exporting","table":"t","directory":"` + gone + `/out","token":"x"`}, CleanOptions{Remove: true, Force: true}, true, gone + "/out may be left: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.State, c.o.OlderThan = t.TempDir(), time.Hour
			for _, n := range []string{"1", "2"} {
				staging := gone + "/tmp/bulkload-root/t-1700000000000-0123456789abcde" + n
				writeJournal(t, c.o.State, "t-00000000000"+n, c.age, append([]string{`"event":"plan","table":"t","staging":"` + staging + `"`}, c.records...)...)
			}
			cl := &cleaner{env: env, options: c.o, now: time.Now(), seen: map[string]bool{}, result: &Cleaning{}, silent: silent}
			err := cl.states(t.Context(), "")
			silent = cl.silent
			if len(cl.result.Dirs) != 2 || (err == nil) != (c.err == "") || err != nil && fail.KindOf(err) != fail.HDFS {
				t.Fatalf("%+v, %v", cl.result.Dirs, err)
			}
			for i, d := range cl.result.Dirs {
				named := func(text string) string {
					return strings.ReplaceAll(text, "STAGING", gone+"/tmp/bulkload-root/t-1700000000000-0123456789abcde"+[]string{"1", "2"}[i])
				}
				if says := d.Because.String(); d.Remove != c.remove || !strings.Contains(says, named(c.says)) || strings.Contains(says, "`hdfs`") {
					t.Errorf("remove %t: %s; want %s", d.Remove, says, named(c.says))
				}
				if err != nil && (!strings.Contains(err.Error(), named(c.err)) || strings.Contains(err.Error(), "`hdfs`")) {
					t.Errorf("%v; want %s", err, named(c.err))
				}
				if gone := !exists(filepath.Join(c.o.State, filepath.Base(d.Path))); gone != (c.remove && c.o.Remove) {
					t.Errorf("the state is gone: %t", gone)
				}
			}
		})
	}
	if asked := log.String(); !strings.Contains(asked, "abcde1 ") || strings.Contains(asked, "abcde2 ") {
		t.Errorf("NameNode asked for other directories than the first: %s", asked)
	}
}

// TestCleanStopped checks that a request that ended because clean is stopped is not taken for a file system that is gone.
func TestCleanStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := &cleaner{options: CleanOptions{Remove: true, Force: true}}
	job, l := Leftover{Remove: true}, hdfsio.Location{Addresses: []string{"nn:1"}}
	err := &net.OpError{Op: "dial", Err: context.Canceled}
	c.heard(ctx, l, err)
	if c.leave(ctx, &job, "hdfs://nn:1/x", err) == nil || job.Remove || len(c.silent) > 0 {
		t.Errorf("%+v, %v", job, c.silent)
	}
}
