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

// open reports whether HBase can read and write the file. It needs both: after a compaction it changes the times of
// the old files.
func (f stored) open() bool {
	return f.owner == "hbase" && f.mode[0:2] == "rw" || f.mode[6:8] == "rw"
}

// ls lists the files below a directory with HDFS's own client and superuser, or none if the directory does not exist.
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

// storeFiles returns the files of a table's stores by directory, without temporary files and HBase's own.
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

// loadedOnce checks that each store of a table has one file, which HBase can read and write: a repeated load would leave
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

// audited returns the lines of the NameNode's audit log for a user and a command, including refused calls.
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
