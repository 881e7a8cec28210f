package secured

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// testCommands runs commands other than the main job, as HBase's own user, who may take snapshots and read their
// files.
func testCommands(t *testing.T, s *site) {
	s = s.as(testcluster.HBaseAdmin)
	e := small(t)[0]
	for _, table := range []string{"commands", "commands_read", "commands_load", "commands_index"} {
		s.create(t, table, e.salts)
	}
	for _, made := range []string{"commands_new", "commands_keys"} {
		s.adm(t, "drop", made)
		s.dropAtEnd(t, made)
	}
	holds := func(t *testing.T, table string) {
		t.Helper()
		if got := s.adm(t, "digest", table); got != e.digest {
			t.Errorf("HBase's client sees %s in %s, want %s", got, table, e.digest)
		}
	}
	counts := func(t *testing.T, table, want string) {
		t.Helper()
		if got := strings.TrimSpace(s.adm(t, "count", table)); got != want {
			t.Errorf("HBase's client sees %s rows in %s, want %s", got, table, want)
		}
	}
	loading := s.loading(e, "commands", "--output", "json")
	if !t.Run("undo", func(t *testing.T) {
		var r struct{ Job string }
		testcheck.Must(t, json.Unmarshal([]byte(s.must(t, loading...).out), &r))
		holds(t, "commands")
		s.must(t, "undo", "--job", filepath.Base(r.Job))
		counts(t, "commands", "0")
		before := testcheck.Name(t)
		testcheck.Must(t, json.Unmarshal([]byte(s.must(t, append(loading, "--restart", "--snapshot", before)...).out), &r))
		holds(t, "commands")
		s.must(t, "undo", "--job", filepath.Base(r.Job), "--by", "snapshot")
		counts(t, "commands", "0")
		s.adm(t, "restore", "commands", before) // takes the snapshot
		s.must(t, append(loading, "--restart")...)
		holds(t, "commands")
	}) {
		return
	}
	t.Run("export and compare", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out")
		s.must(t, "export", "commands", "--to", out, "--format", "csv", "--job", e.job())
		back := e
		back.input = out
		s.create(t, "commands_back", e.salts)
		s.load(t, back, "commands_back")
		holds(t, "commands_back")
		s.must(t, "compare", "commands", "commands_back")
		s.must(t, "compare", "export", "commands", "--job", e.job(), "--input", e.input)
		s.adm(t, "put", "commands_back", "0-another", "f:id", "of HBase's client")
		s.must(t, "compare", "commands", "commands_back", "--repair-b", "--timestamps")
		holds(t, "commands_back")
	})
	t.Run("table", func(t *testing.T) {
		read := e
		read.input = "hbase:commands"
		s.load(t, read, "commands_read")
		holds(t, "commands_read")
	})
	t.Run("rekey", func(t *testing.T) {
		s.must(t, "rekey", "--from", "commands", "--to", "commands_keys", "--key", "md5hex($row)")
		counts(t, "commands_keys", "3000")
	})
	t.Run("load", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "hfiles")
		s.must(t, "build", "--job", e.job(), "--input", e.input, "--splits", boundaries(e.salts), "--out", out)
		s.must(t, "load", "--table", "commands_load", out)
		holds(t, "commands_load")
	})
	t.Run("replace", func(t *testing.T) {
		fewer := e
		fewer.input = filepath.Join(t.TempDir(), "fewer.csv")
		lines := strings.SplitAfterN(read(t, e.input), "\n", 1001)
		testcheck.Must(t, os.WriteFile(fewer.input, []byte(strings.Join(lines[:1000], "")), 0o600))
		s.load(t, fewer, "commands", "--replace", "--max-deletes", "100%")
		s.create(t, "commands_fewer", e.salts)
		s.load(t, fewer, "commands_fewer")
		if got, want := s.adm(t, "digest", "commands"), s.adm(t, "digest", "commands_fewer"); got != want {
			t.Errorf("HBase's client sees %s, want %s", got, want)
		}
		s.load(t, e, "commands", "--replace", "--into", "commands_new")
		holds(t, "commands_new")
	})
	t.Run("tables", func(t *testing.T) {
		job := filepath.Join(t.TempDir(), "job.yaml")
		text := strings.TrimSpace(read(t, filepath.Join(root, e.job()))) + "\ntables:\n  - {index: by_id, table: commands_index, key: id}\n"
		testcheck.Must(t, os.WriteFile(job, []byte(text), 0o600))
		s.must(t, "run", "--job", job, "--table", "commands_load", "--input", e.input, "--verify", "full", "--job-id", "tables")
		holds(t, "commands_load")
		counts(t, "commands_index", "3000")
	})
}
