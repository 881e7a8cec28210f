package versions

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// proven are the versions of "all": of HBase, and after "@" of HDFS. The jars of 3.0.0-beta-1 are not in every
// repository.
var proven = []string{"2.4.18", "2.5.13-hadoop3", testcluster.DefaultHBase, "3.0.0-alpha-4", testcluster.DefaultHBase + "@3.3.6", testcluster.DefaultHBase + "@3.5.0"}

// TestVersions runs the program on each version of HBase.
func TestVersions(t *testing.T) {
	wanted := os.Getenv("BULKLOAD_TEST_VERSIONS")
	if wanted == "" {
		t.Skip("BULKLOAD_TEST_VERSIONS=all fetches HBase 2.4, 2.5 and 3.0 and runs each: make test-versions")
	}
	versions := proven
	if wanted != "all" {
		versions = strings.Split(wanted, ",")
	}
	root := jobtest.Absolute(t, "../../..")
	// A run kills itself after a record of its journal, which requires a program built with this tag.
	program := jobtest.Program(t)
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			hbase, hadoop, _ := strings.Cut(version, "@")
			c, err := testcluster.Start(t.Context(), testcluster.Options{HBase: hbase, Hadoop: hadoop, StartTimeout: 8 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if t.Failed() {
					keepLogs(t, c)
				}
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
			}()
			l := &lab{root: root, program: program, cluster: c, conf: c.ConfDir(), digest: wantedDigest(t, root)}
			t.Run("main job", l.mainJob)
			t.Run("killed", l.killed)
			t.Run("split", l.split)
			t.Run("registry", l.registry)
		})
	}
}

// lab is a cluster with the program.
type lab struct {
	root, program string
	cluster       *testcluster.Cluster
	conf          string // directory of the configuration
	digest        string // of the loaded table
}

// wantedDigest returns the digest of a scan by HBase's client, computed by the generator of the rows.
func wantedDigest(t *testing.T, root string) string {
	text, err := os.ReadFile(filepath.Join(root, "testdata", "exports", "check.digest"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if digest, ok := strings.CutPrefix(line, "skip 10 "); ok {
			return strings.TrimSpace(digest)
		}
	}
	t.Fatal("check.digest has no line for 10 salts")
	return ""
}

// bulkload runs the program, checks its exit code, and returns its standard output.
func (l *lab) bulkload(t *testing.T, state, stopAfter string, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), l.program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.root, &stdout, &stderr
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.conf, "HBASE_CONF_DIR="+l.conf, "HADOOP_USER_NAME=etl", "BULKLOAD_STATE="+state,
		"BULKLOAD_TEST_STOP_AFTER="+stopAfter)
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("bulkload %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// byKill is Go's exit code for a process that a signal ended.
const byKill = -1

func (l *lab) create(t *testing.T, table string) {
	t.Helper()
	args := []string{"table", "create", table, "--salts", "10"}
	if strings.HasPrefix(l.cluster.Version(), "2.4.") { // with Hadoop 2, whose Snappy needs a native library
		args = append(args, "--compression", "GZ")
	}
	l.bulkload(t, t.TempDir(), "", 0, args...)
	if out := l.adm(t, "regions", table); strings.Count(out, "\n") != 9 {
		t.Errorf("regions of %s:\n%s", table, out)
	}
}

func job(table string) []string {
	return []string{"run", "--log-level", "warn", "--job", "examples/check.yaml", "--table", table, "--input", "testdata/exports/check.csv", "--verify", "full"}
}

// adm runs a command of HBase's own client.
func (l *lab) adm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.cluster.AdminT(t).Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *lab) judge(t *testing.T, table string) {
	t.Helper()
	if got := l.adm(t, "digest", table); got != l.digest {
		t.Errorf("table %s has %s, want %s", table, got, l.digest)
	}
}

func (l *lab) mainJob(t *testing.T) {
	const table = "versions:main"
	l.create(t, table)
	l.bulkload(t, t.TempDir(), "", 0, job(table)...)
	l.judge(t, table)
	// HBase can rewrite and read again the files that it has loaded.
	l.adm(t, "major-compact", table)
	l.judge(t, table)

	perKey, first := rowsPerKey(t, l.root)
	got := jsonLines(t, l.bulkload(t, t.TempDir(), "", 0, "get", "--job", "examples/check.yaml", "--table", table, first))
	if len(got) != perKey[first] {
		t.Errorf("get finds %d rows of %s, the export has %d", len(got), first, perKey[first])
	}
	for _, row := range got {
		if row["check_id"] != first {
			t.Errorf("get gives a row of %v", row["check_id"])
		}
	}
	all := jsonLines(t, l.bulkload(t, t.TempDir(), "", 0, "scan", "--table", table, "--start-row", "0"))
	found := map[string]int{}
	for _, row := range all {
		found[fmt.Sprint(row["check_id"])]++
	}
	if len(found) != len(perKey) || len(all) != 3000 {
		t.Errorf("scan gives %d rows of %d keys, the export has %d keys", len(all), len(found), len(perKey))
	}
	for key, n := range perKey {
		if found[key] != n {
			t.Errorf("scan gives %d rows of %s, the export has %d", found[key], key, n)
		}
	}
}

// rowsPerKey counts the rows of each check_id, the second column of the export; first is the id of the first row.
func rowsPerKey(t *testing.T, root string) (count map[string]int, first string) {
	f, err := os.Open(filepath.Join(root, "testdata", "exports", "check.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for _, r := range records[1:] {
		count[r[1]]++
	}
	return count, records[1][1]
}

func jsonLines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	for line := range strings.Lines(text) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// killed kills a run after each of some records, and resumes it until it ends.
func (l *lab) killed(t *testing.T) {
	for i, event := range []string{"written:3", "sending", "loaded:4"} {
		table, state := fmt.Sprintf("versions:killed%d", i), t.TempDir()
		l.create(t, table)
		l.bulkload(t, state, event, byKill, job(table)...)
		l.bulkload(t, state, "", 0, job(table)...)
		l.judge(t, table)
	}
}

// split splits two regions between build and load: files that cross the new boundary are split.
func (l *lab) split(t *testing.T) {
	const table = "versions:split"
	state := t.TempDir()
	l.create(t, table)
	l.bulkload(t, state, "built", byKill, job(table)...)
	l.adm(t, "split", table, "18")
	l.adm(t, "split", table, "78")
	l.bulkload(t, state, "", 0, job(table)...)
	l.judge(t, table)
	if out := l.adm(t, "regions", table); strings.Count(out, "\n") != 11 {
		t.Errorf("regions after two splits:\n%s", out)
	}
}

// registry runs the main job with a configuration that names no ZooKeeper.
func (l *lab) registry(t *testing.T) {
	key, port := "hbase.client.bootstrap.servers", l.cluster.Ports().RegionServer[0]
	if strings.HasPrefix(l.cluster.Version(), "2.4.") { // only masters answer
		key, port = "hbase.masters", l.cluster.Ports().Master
	}
	conf := t.TempDir()
	if err := os.CopyFS(conf, os.DirFS(l.conf)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(conf, "hbase-site.xml")
	site, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const quorum = "<name>hbase.zookeeper.quorum</name><value>localhost</value>"
	if !bytes.Contains(site, []byte(quorum)) {
		t.Fatalf("no quorum in %s", site)
	}
	site = bytes.ReplaceAll(site, []byte(quorum), fmt.Appendf(nil, "<name>%s</name><value>localhost:%d</value>", key, port))
	if err := os.WriteFile(name, site, 0o644); err != nil {
		t.Fatal(err)
	}
	by := *l
	by.conf = conf
	const table = "versions:registry"
	by.create(t, table)
	by.bulkload(t, t.TempDir(), "", 0, job(table)...)
	by.judge(t, table)
	if strings.HasPrefix(l.cluster.Version(), "2.4.") {
		// A region server of 2.4 does not report that; the program explains it.
		site = bytes.ReplaceAll(site, fmt.Appendf(nil, "<name>%s</name><value>localhost:%d<", key, port),
			fmt.Appendf(nil, "<name>hbase.client.bootstrap.servers</name><value>localhost:%d<", l.cluster.Ports().RegionServer[0]))
		if err := os.WriteFile(name, site, 0o644); err != nil {
			t.Fatal(err)
		}
		by.bulkload(t, t.TempDir(), "", 7, "table", "regions", table)
	}
}

// keepLogs logs the ends of the daemons' logs for a failed test.
func keepLogs(t *testing.T, c *testcluster.Cluster) {
	names, _ := filepath.Glob(filepath.Join(c.Dir(), "logs", "*.log"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		t.Logf("%s ends with\n%s", filepath.Base(name), text[max(0, len(text)-4000):])
	}
}
