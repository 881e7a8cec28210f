package checkpoint

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestCleanOtherCluster checks that a job that has left something in HBase on another cluster is kept: the cluster of the configuration may have a table
// of the same name, and what the job has left would be forgotten. The other cluster is asked where the journal has its configuration. Jobs that have left nothing there are removed, and with Force the state is.
func TestCleanOtherCluster(t *testing.T) {
	conf := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(conf, "core-site.xml"), []byte("<configuration/>"), 0o600))
	by := func(conf string) string {
		return `"event":"plan","table":"t","conf":"` + conf + `","table_made":{"cluster":"there"}`
	}
	quiet := `"event":"quiet","table":"t","was":{"SPLIT_ENABLED":""}`
	on := func(id string) string { return `"event":"plan","table":"t","table_made":{"cluster":"` + id + `"}` }
	for name, c := range map[string]struct {
		records []string
		o       CleanOptions
		remove  bool
		says    string // the reason, or the error where this cluster is asked
	}{
		"quiet":               {[]string{on("there"), quiet}, CleanOptions{Remove: true}, false, "its table is on another cluster of HBase: run clean with the configuration of that cluster"},
		"quiet, listed":       {[]string{on("there"), quiet}, CleanOptions{}, false, "its table is on another cluster of HBase"},
		"quiet, forced":       {[]string{on("there"), quiet}, CleanOptions{Remove: true, Force: true}, true, "last changed"},
		"quiet, here":         {[]string{on("here"), quiet}, CleanOptions{Remove: true}, false, "ZooKeeper"},
		"unknown cluster":     {[]string{`"event":"plan","table":"t"`, quiet}, CleanOptions{Remove: true}, false, "ZooKeeper"},
		"a snapshot":          {[]string{on("there"), `"event":"read_snapshot","place":"compared","table":"t","snapshot":"s","created":5`}, CleanOptions{Remove: true}, false, "its table is on another cluster of HBase"},
		"without a plan":      {[]string{`"event":"read_snapshot","place":"exported","table":"t","snapshot":"s","created":5,"cluster":"there"`}, CleanOptions{Remove: true}, false, "its table is on another cluster of HBase"},
		"HBase's directory":   {[]string{on("there"), `"event":"prepared","token":"hdfs://there/hbase/staging/x"`}, CleanOptions{Remove: true}, false, "its table is on another cluster of HBase"},
		"a known cluster":     {[]string{by(conf), quiet}, CleanOptions{Remove: true}, false, "ZooKeeper"},
		"conf elsewhere":      {[]string{by(conf + "/none"), quiet}, CleanOptions{Remove: true}, false, "its table is on another cluster of HBase"},
		"nothing left":        {[]string{on("there")}, CleanOptions{Remove: true}, true, "last changed"},
		"nothing left, quiet": {[]string{on("there"), quiet, `"event":"quiet","table":"t","over":true`}, CleanOptions{Remove: true}, true, "last changed"},
	} {
		c.o.State, c.o.OlderThan = t.TempDir(), time.Hour
		dir := writeJournal(t, c.o.State, "t-000000000001", 30*24*time.Hour, c.records...)
		cl := &cleaner{env: &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}, options: c.o, now: time.Now(), seen: map[string]bool{}, result: &Cleaning{}, id: "here"}
		err := cl.states(t.Context(), "")
		d := cl.result.Dirs[len(cl.result.Dirs)-1]
		says := d.Because.String()
		if strings.HasPrefix(c.says, "Zoo") {
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			says = err.Error()
		} else {
			testcheck.Must(t, err)
		}
		if d.Remove != c.remove || !strings.Contains(says, c.says) || exists(dir) != (!c.remove || !c.o.Remove) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestCleanWithoutHBase checks that the staging directory of a job that is kept because HBase does not answer is not taken for one of an unknown job,
// and that HBase is asked once for all jobs.
func TestCleanWithoutHBase(t *testing.T) {
	o := CleanOptions{Remove: true, State: t.TempDir(), OlderThan: time.Hour}
	for _, name := range []string{"t-000000000001", "t-000000000002"} {
		writeJournal(t, o.State, name, 30*24*time.Hour, `"event":"plan","table":"t","staging":"file:///nowhere/`+name+`","table_made":{"cluster":"there"}`,
			`"event":"quiet","table":"t","was":{"SPLIT_ENABLED":""}`)
	}
	cl := &cleaner{env: &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}, options: o, now: time.Now(), seen: map[string]bool{}, result: &Cleaning{}}
	err := cl.states(t.Context(), "")
	if err == nil || cl.idErr == nil || len(cl.seen) != 2 {
		t.Errorf("error %v, staging directories %v", err, cl.seen)
	}
	for _, d := range cl.result.Dirs {
		if d.Remove || !exists(d.Path) {
			t.Errorf("%+v", d)
		}
	}
}
