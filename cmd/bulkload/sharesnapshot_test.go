package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// sharedSnapshot is the snapshot s of a table, in a directory that programs find through a configuration.
type sharedSnapshot struct {
	*testsnapshot.Table
	conf string
}

// newSharedSnapshot creates a table of ten regions. Each value of its column n, which is the key of other tables, is
// in three regions; each fifth row has two versions.
func newSharedSnapshot(t *testing.T) *sharedSnapshot {
	t.Helper()
	var regions []string
	for i := 1; i < 10; i++ {
		regions = append(regions, fmt.Sprintf("%d", i))
	}
	s := &sharedSnapshot{testsnapshot.New(t, testsnapshot.Options{FS: hdfsio.Local{}, Root: t.TempDir(), Table: "old", Splits: regions, Versions: 2, Created: 1_700_000_000_000}), t.TempDir()}
	const rows = 5997
	var cells []hfile.Cell
	for i := range rows {
		row := fmt.Sprintf("%d-%05d", i%10, i)
		if i%5 == 0 {
			cells = append(cells, testsnapshot.Put(row, "f", "v", 4, "before"))
		}
		cells = append(cells, testsnapshot.Put(row, "f", "n", 5, fmt.Sprintf("k%05d", i%(rows/3)*7%(rows/3))), testsnapshot.Put(row, "f", "v", 5, fmt.Sprintf("%d of %s", i, row)))
	}
	s.Load(3, cells...)
	s.Save()
	site := fmt.Sprintf("<configuration><property><name>hbase.rootdir</name><value>file://%s</value></property></configuration>", s.Root)
	testcheck.Must(t, os.WriteFile(filepath.Join(s.conf, "hbase-site.xml"), []byte(site), 0o600))
	return s
}

// TestSharesOfAnotherSnapshot checks that shares and merges refuse a snapshot that has the name of the plan's
// snapshot but is another one, or is missing.
func TestSharesOfAnotherSnapshot(t *testing.T) {
	s := newSharedSnapshot(t)
	t.Setenv("HBASE_CONF_DIR", s.conf)
	j := sharedJob{t, t.TempDir(), []string{"--input", "snapshot:s", "--key", "n + id", "--columns", "n,v,id", "--parse", "id", "--splits", "k01"}}
	j.plan()
	j.plan() // again: the plan stays unchanged
	for k := 1; k <= 2; k++ {
		j.must(shareArgs(k, 2)...)
	}
	refused := func(what, want string) {
		t.Helper()
		for _, args := range [][]string{shareArgs(2, 2), mergeArgs(1, 1)} {
			if out, code := j.program(args...); code != fail.Input.ExitCode() || !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s: %s ends with %d: %s", what, args[0], code, out)
			}
		}
	}
	files := slices.Clone(s.Regions[3].Files)
	s.Regions[3].Files = nil
	s.Save()
	refused("other files", `the input has changed since the plan was made: .*snapshot:s/0000`)
	s.Regions[3].Files, s.Created = files, s.Created+1
	s.Save()
	refused("another time", `snapshot s is of table old at 2023-11-14T22:13:20.001Z, the plan's of old at 2023-11-14T22:13:20Z: make another plan`)
	testcheck.Must(t, os.RemoveAll(filepath.Join(s.Root, ".hbase-snapshot")))
	refused("no snapshot", `snapshot s.*no such file|list_snapshots`)
	s.Created--
	s.Save()
	j.must(mergeArgs(1, 1)...)
}

// TestSharesRefuseTables checks that an input hbase:TABLE is refused, since shares need a snapshot, also in a list of inputs.
func TestSharesRefuseTables(t *testing.T) {
	dir := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "list"), []byte("hbase:old\n"), 0o600))
	for _, input := range [][]string{{"--input", "hbase:old"}, {"--inputs-from", "list"}} {
		j := sharedJob{t, dir, nil}
		if out, code := j.program(append([]string{"plan", "--key", "n", "--columns", "n", "--splits", "k", "--out", "plan"}, input...)...); code != fail.Config.ExitCode() || !strings.Contains(out, "input hbase:old: shares need a snapshot") {
			t.Errorf("%v: it ends with %d: %s", input, code, out)
		}
	}
}
