package checkpoint

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestRestartWithoutNameNode checks that a job whose directory is on a NameNode that is gone can start over: the directory stays a resource of the job,
// also after a second restart, until clean removes the job by force. It cannot where HBase uses that NameNode, or may have files of the directory.
func TestRestartWithoutNameNode(t *testing.T) {
	gone := "hdfs://" + testcheck.ClosedAddress(t)
	staging := gone + "/tmp/bulkload-root/t-1700000000000-0123456789abcdef"
	plan := `"event":"plan","table":"t","staging":"` + staging + `"`
	for name, c := range map[string]struct {
		conf    map[string]string
		records []string
		err     string // empty: none
	}{
		"gone":       {nil, []string{plan}, ""},
		"HBase's":    {map[string]string{cluster.RootDirKey: gone + "/hbase"}, []string{plan}, "remove what the job left in " + staging},
		"unresolved": {nil, []string{plan, sendingTwo}, "HBase may have files of " + staging},
		"finished":   {nil, []string{plan, `"event":"done","staging_directory":"removed"`}, ""},
		"no address": {map[string]string{"dfs.nameservices": "old"}, []string{strings.ReplaceAll(plan, gone, "hdfs://old")}, ""},
		"kept":       {nil, []string{plan, `"event":"done","staging_directory":"kept"`}, ""},
		"ended":      {nil, []string{plan, `"event":"done","staging_directory":"removed","removed_next":true`, `"event":"cleaned","token":"` + staging + `"`}, ""},
		"of before":  {nil, []string{`"event":"discarded","staging":["` + staging + `"]`, `"event":"plan","table":"t"`, sendingTwo}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			staging := staging
			if name == "no address" {
				staging = strings.ReplaceAll(staging, gone, "hdfs://old")
			}
			var log bytes.Buffer
			env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			defer env.Close()
			for k, v := range c.conf {
				env.Conf.Set(k, v, "test")
			}
			state := t.TempDir()
			dir := writeJournal(t, state, "t-000000000001", time.Minute, c.records...)
			for again := range map[bool]int{true: 2, false: 1}[name == "gone"] {
				st, err := OpenDir(t.Context(), env, dir, 0, progress.Events{})
				testcheck.Must(t, err)
				err = st.Restart(t.Context(), env)
				if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || fail.KindOf(err) != fail.HDFS) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				testcheck.Must(t, st.Close())
				if err != nil {
					return
				}
				left, err := history.Read(dir)
				if name == "kept" || name == "ended" {
					if len(left.LeftStaging) > 0 {
						t.Errorf("%q", left.LeftStaging)
					}
					return
				}
				if testcheck.Must(t, err); !slices.Equal(left.LeftStaging, []string{staging}) || len(left.Resources()) != 1 || left.IsEmpty() {
					t.Fatalf("after restart %d: %q, %+v", again, left.LeftStaging, left.Resources())
				}
			}
			if !strings.Contains(log.String(), staging) {
				t.Errorf("it is not named: %s", &log)
			}
			var silent map[string]error
			for _, force := range []bool{false, true} {
				cl := &cleaner{env: env, options: CleanOptions{State: state, Job: filepath.Base(dir), OlderThan: time.Hour, Remove: true, Force: force}, now: time.Now(), seen: map[string]bool{}, result: &Cleaning{}, silent: silent}
				err := cl.states(t.Context(), "")
				silent = cl.silent
				if says := cl.result.Dirs[0].Because.String(); !strings.Contains(says, staging+" may be left") || (err == nil) != force || exists(dir) == force {
					t.Errorf("forced %t: %s, %v", force, says, err)
				}
			}
		})
	}
}
