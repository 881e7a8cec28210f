package checkpoint

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestJournalOfAnotherVersion checks that every reader of a journal with a record that this version cannot interpret names the version that continued the
// job last, and advises to run the job with it, and not to discard the state.
func TestJournalOfAnotherVersion(t *testing.T) {
	plan := `"event":"plan","job":"0123456789ab","table":"t","splits":{"first":1}`
	attempt := func(version string) string {
		return `"event":"attempt","attempt":1,"pid":1,"host":"h","version":"` + version + `"`
	}
	const advice = "is of version 0.9.0, and this one cannot interpret it: run the job with that version"
	const detail, discards = "json: cannot unmarshal", "(bulkload clean `job` t-000000000001 `force` discards the job's state, and may lose rows)"
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		records []string
		named   bool
	}{
		"before the attempt":        {[]string{plan, attempt("0.9.0")}, true},
		"after the attempt":         {[]string{attempt("0.8.0"), attempt("0.9.0"), plan}, true},
		"the attempt itself":        {[]string{`"event":"attempt","attempt":{"number":1},"version":"0.9.0"`}, true},
		"without a version":         {[]string{`"event":"attempt","attempt":1,"pid":1,"host":"h"`, plan}, false},
		"a version of another form": {[]string{plan, `"event":"attempt","attempt":1,"version":{"major":1}`}, false},
	} {
		state := t.TempDir()
		dir := writeJournal(t, state, "t-000000000001", 30*24*time.Hour, c.records...)
		_, opened := OpenDir(t.Context(), env, dir, 0, progress.Events{})
		read, err := status.Read(dir)
		testcheck.Must(t, err)
		cleaned, _ := Clean(t.Context(), env, CleanOptions{State: state, Remove: true}) // there is no HDFS here
		if opened == nil || fail.KindOf(opened) != fail.Config || read.State != history.JobUnknown || len(cleaned.Dirs) != 1 || cleaned.Dirs[0].Remove {
			t.Fatalf("%s: %v, %+v, %+v", name, opened, read, cleaned.Dirs)
		}
		if strings.Contains(opened.Error(), discards) == c.named {
			t.Errorf("%s: advised is %v", name, opened)
		}
		for reader, says := range map[string]string{"open": opened.Error(), "status": read.Error, "clean": cleaned.Dirs[0].Because.String()} {
			if strings.Contains(says, advice) != c.named || strings.Contains(says, detail) == c.named {
				t.Errorf("%s: %s: %s", name, reader, says)
			}
		}
	}
}
