package secured

import (
	"path"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// stored is a file on HDFS.
type stored struct {
	mode  string // rw-r--r--
	owner string
	path  string
}

// open says that HBase can read and write the file, which takes both: after a compaction it changes the times of the old files.
func (f stored) open() bool {
	return f.owner == "hbase" && f.mode[0:2] == "rw" || f.mode[6:8] == "rw"
}

// ls lists the files below a directory by HDFS's own client and superuser; none where there is no such directory.
func (s *site) ls(t testing.TB, dir string) []stored {
	t.Helper()
	out, err := s.c.AdminAsT(t, testcluster.HDFSAdmin).Run(t.Context(), "ls", dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []stored
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("ls prints %q", line)
		}
		all = append(all, stored{f[0], f[1], f[2]})
	}
	return all
}

// storeFiles returns the files of a table's stores by directory, temporary ones and what HBase keeps with them left out.
func (s *site) storeFiles(t testing.TB, below, table string) map[string][]stored {
	t.Helper()
	all := map[string][]stored{}
	namespace, name, ok := strings.Cut(table, ":")
	if !ok {
		namespace, name = "default", table
	}
	for _, f := range s.ls(t, path.Join(below, "data", namespace, name)) {
		if dir, name := path.Split(f.path); path.Base(dir) == "f" && !strings.HasPrefix(name, ".") {
			all[dir] = append(all[dir], f)
		}
	}
	return all
}

// loadedOnce holds the stores of a table to one file each, which HBase can read and write: a load that was made twice leaves
// two, which a scan does not show.
func (s *site) loadedOnce(t testing.TB, table string) {
	t.Helper()
	stores := s.storeFiles(t, "/hbase", table)
	if len(stores) == 0 {
		t.Errorf("table %s has no store files", table)
	}
	for dir, files := range stores {
		if len(files) != 1 {
			t.Errorf("%s has %d files, want 1: %v", dir, len(files), files)
		}
		for _, f := range files {
			if !f.open() {
				t.Errorf("HBase can not read and write %s: %s of %s", f.path, f.mode, f.owner)
			}
		}
	}
}

// audited returns the lines of the NameNode's audit log of a user and a command, those that were refused included.
func (s *site) audited(t testing.TB, user, command string) (lines []string) {
	t.Helper()
	for _, role := range s.c.Roles() {
		if !strings.HasPrefix(string(role), string(testcluster.NameNode)) {
			continue
		}
		for line := range strings.Lines(read(t, s.c.Daemon(role).LogPath())) {
			if strings.Contains(line, "FSNamesystem.audit") && strings.Contains(line, "\tcmd="+command) &&
				(strings.Contains(line, "ugi="+user+"@") || strings.Contains(line, "ugi="+user+" ")) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
