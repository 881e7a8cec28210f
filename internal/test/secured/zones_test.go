package secured

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// zone is the encryption zone of a cluster: HBase's root, with inputs and staging in it.
const zone = "/hbase"

// TestZones runs jobs on clusters whose HBase root, inputs and staging are in one encryption zone: with simple authentication, and in
// the full suite with Kerberos.
func TestZones(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a test cluster, which -short leaves out")
	}
	for name, security := range map[string]testcluster.Security{"simple": {}, "Kerberos": sealed} {
		t.Run(name, func(t *testing.T) {
			if security.Kerberos {
				testcluster.SecuredAll(t)
			}
			s := zoneSite(t, security)
			for _, part := range []part{
				{"jobs", testZoneJobs, false}, {"keys out of reach", testKeysAway, false}, {"stored", testStored, false}, {"commands", testCommands, true},
				{"kills", testKills, false}, {"afterwards", testAfterwards, true},
			} {
				t.Run(part.name, func(t *testing.T) {
					if part.full {
						testcluster.SecuredAll(t)
					}
					part.test(t, s.at(t))
				})
			}
		})
	}
}

// zoneSite returns a site whose HBase root, inputs and staging are in one encryption zone.
func zoneSite(t *testing.T, security testcluster.Security) *site {
	t.Helper()
	s := on(t, testcluster.Own(t, testcluster.Options{Security: security, KMS: true, Zones: map[string]string{zone: testcluster.ZoneKey}}))
	own := path.Join(zone, "bulkload-"+testcluster.Loader)
	s.inputs = zone + "/inputs"
	_, err := s.c.FsShell(t.Context(), []string{"-mkdir", "-p", own, s.inputs}, []string{"-chown", testcluster.Loader, own, s.inputs})
	testcheck.Must(t, err)
	return s
}

// onHDFS returns an export whose input is a file in a directory of HDFS.
func (s *site) onHDFS(t *testing.T, dir string, e export) export {
	t.Helper()
	name := path.Join(dir, filepath.Base(e.input))
	_, err := s.c.FsShell(t.Context(), []string{"-put", "-f", e.input, name})
	testcheck.Must(t, err)
	e.input = "hdfs://" + name
	return e
}

// testZoneJobs loads exports of the zone, and checks that a job with staging outside of it is refused before its build.
func testZoneJobs(t *testing.T, s *site) {
	all := exports(t)
	if !full() {
		all = all[:1]
	}
	for i, e := range all {
		e = s.onHDFS(t, s.inputs, e)
		table := fmt.Sprintf("zone_job_%d", i)
		s.create(t, table, e.salts)
		if i == 0 {
			r := s.do(t, s.loading(e, table, "--staging", "/tmp/outside")...)
			if r.code != 3 || !strings.Contains(r.err, "is in the encryption zone /hbase and the staging directory is not") {
				t.Errorf("staging outside of the zone: exit code %d: %s", r.code, r.err)
			}
			if strings.Contains(r.err, "plan made") || strings.Contains(r.err, "building") {
				t.Errorf("rows may be outside of the zone before the job is refused: %s", r.err)
			}
		}
		took := s.load(t, e, table).took
		t.Logf("%d rows of %s in %.1f s", e.rows, e.kind, took.Seconds())
		s.holds(t, e, table)
		s.loadedOnce(t, table)
	}
}

// testKeysAway stops the KMS at the beginning of a job and during one that is resumed: the jobs wait for it.
func testKeysAway(t *testing.T, s *site) {
	e := s.onHDFS(t, s.inputs, small(t)[0])
	const table = "zone_away"
	s.create(t, table, e.salts)
	kms := s.c.Daemon(testcluster.KMS)
	events := []string{"", "written:5", "built:1", "prepared:1"}
	if !full() {
		events = events[:2]
	}
	for _, event := range events {
		if event != "" {
			if r := s.with("BULKLOAD_TEST_STOP_AFTER="+event).do(t, s.loading(e, table)...); r.code != killed {
				t.Fatalf("exit code %d, not killed after %s\n%s", r.code, event, r.err)
			}
		}
		testcheck.Must(t, kms.Kill(t.Context()))
		cmd := s.command(t, s.loading(e, table)...)
		log := &waiting{want: "retrying HDFS RPC", seen: make(chan struct{})}
		cmd.Stderr = log
		testcheck.Must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		select {
		case <-log.seen:
			testcheck.Must(t, kms.Restart(t.Context()))
			err = <-ended
		case err = <-ended: // the rest of the job needed no key
			testcheck.Must(t, kms.Restart(t.Context()))
		}
		if err != nil {
			t.Fatalf("after %q: %v\n%s", event, err, log.text.String())
		}
		testcheck.Must(t, kms.WaitReady(t.Context()))
		s.holds(t, e, table)
		s.loadedOnce(t, table)
		s.create(t, table, e.salts)
		testcheck.Must(t, os.RemoveAll(filepath.Join(s.dir, "state")))
	}
}

// waiting records the data written to it, and signals when they contain a text.
type waiting struct {
	text bytes.Buffer
	want string
	seen chan struct{}
	said bool
}

func (w *waiting) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.said && strings.Contains(w.text.String(), w.want) {
		w.said = true
		close(w.seen)
	}
	return len(p), nil
}

// testStored searches the DataNodes' storage for a value of the export: it is never in plaintext while the table, its input and the
// staging directory contain it, uncompressed.
func testStored(t *testing.T, s *site) {
	e := s.onHDFS(t, s.inputs, small(t)[0])
	const table = "zone_stored"
	s.create(t, table, e.salts, "--compression", "NONE", "--encoding", "NONE")
	s.load(t, e, table)
	s.holds(t, e, table)
	value := []byte(e.key[0])
	stored := func() (n int) {
		testcheck.Must(t, filepath.WalkDir(filepath.Join(s.c.Dir(), "data"), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "blk_") {
				if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, value) {
					n++
				}
			}
			return nil // a file that was removed meanwhile is not stored
		}))
		return n
	}
	if n := stored(); n != 0 {
		t.Errorf("%d files of DataNodes have a value of the table in the clear", n)
	}
	_, err := s.c.FsShell(t.Context(), []string{"-put", "-f", small(t)[0].input, "/tmp/clear.csv"})
	testcheck.Must(t, err)
	if n := stored(); n != 1 {
		t.Errorf("%d files have the value once it is stored outside of the zone, want 1", n)
	}
	_, err = s.c.FsShell(t.Context(), []string{"-rm", "-skipTrash", "/tmp/clear.csv"})
	testcheck.Must(t, err)
}
