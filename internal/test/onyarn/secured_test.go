package onyarn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// tokenLife is the lifetime in milliseconds of a delegation token of HDFS that is not renewed.
const tokenLife = "40000"

// TestYARNSecured runs jobs as a user with a keytab where everything is encrypted: their tasks have only tokens.
func TestYARNSecured(t *testing.T) {
	testcluster.NeedsYARN(t)
	s := on(t, testcluster.Options{YARN: true, Security: testcluster.AtLevel(testcluster.Privacy),
		HDFSSite: map[string]string{"dfs.namenode.delegation.token.renew-interval": tokenLife}})
	t.Run("samples", func(t *testing.T) {
		for _, e := range samples {
			s.in(t).sample(e)
		}
	})
	t.Run("tokens", func(t *testing.T) { s.in(t).tokens() })
	t.Run("a table as input", func(t *testing.T) { s.in(t).tableInput() })
	t.Run("new keys", func(t *testing.T) { s.in(t).rekeys() })
	t.Run("a bad record", func(t *testing.T) { s.in(t).badRecord() })
}

// TestYARNZone runs jobs whose inputs, staging and HBase root are in encryption zones: tasks get keys by the user's name, and with
// Kerberos by a token of the KMS.
func TestYARNZone(t *testing.T) {
	testcluster.NeedsYARN(t)
	for name, security := range map[string]testcluster.Security{"simple": {}, "Kerberos": testcluster.AtLevel(testcluster.Privacy)} {
		t.Run(name, func(t *testing.T) {
			s := on(t, testcluster.Options{YARN: true, Security: security, KMS: true, Zones: map[string]string{"/hbase": testcluster.ZoneKey}})
			in, staging := "/user/"+s.user+"/in", "/hbase/bulkload-"+s.user
			testcheck.Must(t, s.cluster.MakeZones(t.Context(), map[string]string{in: testcluster.ZoneKey}))
			_, err := s.cluster.FsShell(t.Context(), []string{"-mkdir", staging}, []string{"-chown", s.user, in, staging})
			testcheck.Must(t, err)
			for _, e := range samples {
				s.in(t).sample(e)
			}
			t.Run("a table as input", func(t *testing.T) { s.in(t).tableInput() })
			t.Run("new keys", func(t *testing.T) { s.in(t).rekeys() })
		})
	}
}

// The users at the NameNode, as its audit log names them.
const (
	byKeytab        = testcluster.Loader + "@" + testcluster.Realm + " (auth:KERBEROS)"
	byToken         = testcluster.Loader + "@" + testcluster.Realm + " (auth:TOKEN)"
	resourceManager = "rm/localhost@"
)

// tokens suspends a map until its tokens would have expired without YARN's renewal. Meanwhile it looks for keys in the job's
// processes and files outside of its command.
func (s *site) tokens() {
	dump, err := data.WriteFile(s.Context(), s.TempDir(), data.Spec{Table: data.Check, Rows: 300_000, Seed: 11}, data.Dump)
	if err != nil {
		s.Fatal(err)
	}
	input, into := s.put(dump), s.table(10)
	logins, renewed, canceled := s.issued(), s.audited(resourceManager, "renewDelegationToken", ""), s.audited(resourceManager, "cancelDelegationToken", "")
	e := s.during(func(m *moment) {
		w, ok := m.work("map", 5*mega, 0)
		if !ok || !m.signal(w.Process, syscall.SIGSTOP) {
			return
		}
		defer m.signal(w.Process, syscall.SIGCONT)
		m.secrets()
		// With the first renewal YARN determines the lifetime of a token. A third one is made after the end of a
		// lifetime.
		m.until("a token is renewed for the third time", func([]testcluster.Process) bool {
			return m.audited(resourceManager, "renewDelegationToken", "") >= renewed+3
		})
	}, s.loading("check", into, input, "--maps", "2", "--reduces", "2")...)
	if e.code != 0 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	s.holds(into, s.local(s.job("check"), dump, splitsOf(10)))
	app, err := s.asks().Application(s.Context(), e.application())
	if err != nil || len(app.Tags) != 1 {
		s.Fatalf("%+v, %v", app, err)
	}
	dir := "/_yarn-" + app.Tags[0] + "/"
	for _, place := range []string{"/maps/", "/_reduces/", "/_writing/"} {
		if n := s.audited(byToken, "create", dir, place); n == 0 {
			s.Errorf("no file of %s…%s is made by token", dir, place)
		}
		if n := s.audited(byKeytab, "create", dir, place); n > 0 {
			s.Errorf("%d files of %s…%s are made by keytab", n, dir, place)
		}
	}
	if n := s.issued() - logins; n != 1 {
		s.Errorf("the KDC has had %d logins of %s, want that of the command", n, testcluster.Loader)
	}
	left, err := filepath.Glob(filepath.Join(s.tmp, "*"))
	if err != nil || len(left) > 0 {
		s.Errorf("left behind: %q, %v", left, err)
	}
	s.eventually("YARN cancels the job's tokens", func() error {
		if s.audited(resourceManager, "cancelDelegationToken", "") == canceled {
			return errors.New("none is canceled")
		}
		return nil
	})
}

// audited counts the lines of the NameNode's audit log for a user and a command that contain all parts.
func (s *site) audited(who, command string, parts ...string) (n int) {
	text, err := os.ReadFile(s.cluster.Daemon(testcluster.NameNode).LogPath())
	if err != nil {
		s.Error(err)
		return 0
	}
lines:
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "FSNamesystem.audit") || !strings.Contains(line, "\tcmd="+command) || !strings.Contains(line, "ugi="+who) {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		n++
	}
	return n
}

// issued counts the ticket-granting tickets that the KDC has issued to the user.
func (s *site) issued() (n int) {
	text, err := os.ReadFile(s.cluster.Daemon(testcluster.KDC).LogPath())
	if err != nil {
		s.Error(err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "AS_REQ") && strings.Contains(line, "ISSUE") && strings.Contains(line, testcluster.Loader+"@") {
			n++
		}
	}
	return n
}

// secrets looks for the user's keys, and for references to them, in the processes and files of containers and in the
// user's files on HDFS.
func (m *moment) secrets() {
	keytab, err := os.ReadFile(m.cluster.Keytab(testcluster.Loader))
	if err != nil {
		m.Error(err)
		return
	}
	hidden := [][]byte{keytab[2:min(len(keytab), 80)], []byte(m.cluster.Keytab(testcluster.Loader)), []byte("KRB5CCNAME="), []byte("BULKLOAD_KEYTAB="), []byte("bulkload-tickets-")}
	look := func(where string, b []byte) {
		for _, h := range hidden {
			if bytes.Contains(b, h) && !bytes.Contains(b, []byte("\x7fELF")) { // the program contains the names of variables
				m.Errorf("%s has what leads to keys", where)
			}
		}
	}
	all, err := m.cluster.Containers()
	if err != nil {
		m.Error(err)
	}
	for _, p := range all {
		for _, what := range []string{"environ", "cmdline"} {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.Pid(), what))
			look(what+" of "+p.Command[0], b)
		}
	}
	for _, w := range workers(all) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.Pid()))
		if !bytes.Contains(b, []byte("HADOOP_TOKEN_FILE_LOCATION=")) {
			m.Errorf("%s has no file of tokens", w.attempt)
		}
	}
	n := 0
	for _, role := range m.cluster.Roles() {
		if !strings.HasPrefix(string(role), string(testcluster.NodeManager)) {
			continue
		}
		err := filepath.WalkDir(m.cluster.NodeDir(role), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			look(name, b)
			n++
			return err
		})
		if err != nil {
			m.Error(err)
		}
	}
	stored, err := m.onHDFS("hdfs:///user/"+m.user, look)
	if err != nil {
		m.Error(err)
	}
	m.Logf("%d files of nodes and %d on HDFS have no keys", n, stored)
	if n == 0 || stored == 0 {
		m.Error("nothing was looked at")
	}
}

// onHDFS checks the files below a directory, except large ones, such as the job's input and program.
func (s *site) onHDFS(uri string, look func(where string, b []byte)) (n int, err error) {
	fsys, dir, err := s.super.Resolve(uri)
	if err != nil {
		return 0, err
	}
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := fsys.ReadDir(s.Context(), dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				err = walk(name)
			} else if e.Size() < 4*mega {
				err = s.lookAt(fsys, name, look)
				n++
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	return n, walk(dir)
}

func (s *site) lookAt(fsys hdfsio.FS, name string, look func(where string, b []byte)) error {
	f, err := fsys.Open(s.Context(), name)
	if err != nil {
		return err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	look(name, b.Bytes())
	return err
}
