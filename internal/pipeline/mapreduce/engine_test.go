package mapreduce

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
)

// manager is a ResourceManager with at most one application.
type manager struct {
	mu      sync.Mutex
	id      string // empty: no application
	tag     string
	state   string
	final   string
	killed  int
	refuses string           // the text of the exception for a request to end the application; empty: none
	busy    int              // number of queries about the application, once it is killed, that are refused for the moment
	more    map[string]any   // further responses, by path
	paths   map[string]int   // number of requests, by path
	asked   func(m *manager) // called for each query about the application
}

const application = "application_1700000000000_0001"

func (m *manager) app() map[string]any {
	return map[string]any{"id": m.id, "state": m.state, "finalStatus": m.final, "applicationTags": m.tag, "user": "etl", "diagnostics": "what YARN says"}
}

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := func(v any) { json.NewEncoder(w).Encode(v) }
	if m.paths == nil {
		m.paths = map[string]int{}
	}
	m.paths[r.URL.Path]++
	switch path := r.URL.Path; {
	case path == "/ws/v1/cluster/apps":
		if m.id == "" || r.URL.Query().Get("applicationTags") != m.tag {
			answer(map[string]any{"apps": nil})
			return
		}
		answer(map[string]any{"apps": map[string]any{"app": []any{m.app()}}})
	case path == "/ws/v1/cluster/apps/"+m.id && m.id != "":
		if m.asked != nil {
			m.asked(m)
		}
		if m.killed > 0 && m.busy > 0 {
			m.busy--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer(map[string]any{"app": m.app()})
	default:
		v, ok := m.more[path]
		if path == infoPath && !ok {
			v, ok = startedAt(1_700_000_000_000)[path], true
		}
		switch text, isText := v.(string); {
		case isText:
			w.Write([]byte(text))
		case ok:
			answer(v)
		default:
			http.NotFound(w, r)
		}
	}
}

// call answers the call that ends the application.
func (m *manager) call(method string, _ []byte) (response []byte, class, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses != "" {
		return nil, "org.apache.hadoop.yarn.exceptions.YarnException", m.refuses
	}
	if method == "forceKillApplication" {
		m.killed++
		m.state, m.final = "KILLED", "KILLED"
	}
	return nil, "", ""
}

// ofJob returns the path at which the ApplicationMaster answers.
func ofJob(below string) string {
	return "/proxy/" + application + "/ws/v1/mapreduce/jobs/" + strings.Replace(application, "application", "job", 1) + below
}

// notes is a journal for the test.
type notes struct{ all []string }

func (n *notes) Submitting(s Submission) error { return n.add("submitting", s.Application) }
func (n *notes) Submitted(s Submission) error  { return n.add("submitted", s.Application) }
func (n *notes) Ended(_ Submission, how string) error {
	return n.add("ended", how)
}
func (n *notes) add(what, of string) error {
	n.all = append(n.all, strings.TrimSpace(what+" "+of))
	return nil
}

// bench is an engine with a manager and a staging directory of local files.
type bench struct {
	*testing.T
	*Engine
	manager *manager
	notes   *notes
	out     build.Output
	at      hdfsio.Location
	server  string // the manager's
	conf    string // directory of Hadoop's configuration
	pipe    *piped // its output is that of the application
}

// serve starts a server that simulates a manager or a node.
func serve(t *testing.T, m *manager) string {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return server.URL
}

// newBench returns a bench whose Hadoop client runs script. The job's tasks are finished; commit completes its output.
func newBench(t *testing.T, script string) *bench {
	t.Helper()
	m := &manager{state: "RUNNING", final: "UNDEFINED"}
	server := serve(t, m)
	conf, home := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "mapred"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HADOOP_CONF_DIR": conf, "HADOOP_USER_NAME": "etl"}
	c, err := hdfsio.LoadConf(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	env := &cluster.Env{Conf: c, Log: slog.New(slog.DiscardHandler)}
	n := &notes{}
	b := &bench{T: t, manager: m, server: server, conf: conf, notes: n, Engine: &Engine{Settings: Settings{Hadoop: home, Maps: 2, Reduces: 2}, Env: env, Journal: n, Poll: time.Millisecond, program: "/bin/true"}}
	staging := t.TempDir()
	calls := testcheck.Serve(t, func(c net.Conn) { testdfs.Answer(c, m.call) })
	b.set("yarn-site.xml", "yarn.resourcemanager.webapp.address", strings.TrimPrefix(server, "http://"), "yarn.resourcemanager.address", calls.Addr().String())
	b.out = build.Output{FS: hdfsio.Local{}, Dir: staging}
	b.at = hdfsio.Location{Scheme: "file", Path: staging}
	b.pipe = newPiped(t, jobtest.CSVSpec(plain(t)), [][]byte{[]byte("k04")}, 2, 2)
	return b
}

// set writes a file of Hadoop's configuration that has names and values.
func (b *bench) set(file string, pairs ...string) {
	b.Helper()
	var text strings.Builder
	for p := range slices.Chunk(pairs, 2) {
		fmt.Fprintf(&text, "<property><name>%s</name><value>%s</value></property>", p[0], p[1])
	}
	if err := os.WriteFile(filepath.Join(b.conf, file), []byte("<configuration>"+text.String()+"</configuration>"), 0o600); err != nil {
		b.Fatal(err)
	}
}

func plain(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,name\n")
	for i := range 6000 {
		fmt.Fprintf(&b, "k%05d,name %d\n", i, i)
	}
	name := filepath.Join(t.TempDir(), "plain.csv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// begun returns the submission of an earlier process, whose tasks have run.
func (b *bench) begun(application string) *Submission {
	b.Helper()
	if err := b.pipe.run(); err != nil {
		b.Fatal(err)
	}
	b.manager.tag = b.pipe.work.Tag
	return &Submission{Tag: b.pipe.work.Tag, Dir: b.pipe.work.Dir, Application: application, Maps: 2, Reduces: 2}
}

// commit simulates the last step of the ApplicationMaster.
func (b *bench) commit() {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.pipe.dir, outName, successName), nil, 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) build(ctx context.Context) (*Adopted, error) {
	return b.Engine.Build(ctx, func(context.Context) (*share.Plan, error) { return b.pipe.work.Plan, nil }, b.out, b.at)
}

// TestAttach checks that a running application of an earlier process is found by its tag or by its id and waited for, and that its output is taken.
func TestAttach(t *testing.T) {
	for _, id := range []string{"", application} {
		b := newBench(t, "exit 1")
		b.Begun, b.manager.id = b.begun(id), application
		asked := 0
		b.manager.asked = func(m *manager) {
			if asked++; asked == 3 {
				b.commit()
				m.state, m.final = "FINISHED", "SUCCEEDED"
			}
		}
		a, err := b.build(t.Context())
		if err != nil || a.Manifests[0].Digest.Rows != 6000 || asked < 3 {
			t.Fatalf("%q: %v after %d questions", id, err, asked)
		}
		if want := map[bool]string{true: "[submitted " + application + "]", false: "[]"}[id == ""]; fmt.Sprint(b.notes.all) != want {
			t.Errorf("%q: the journal has %v, not %s", id, b.notes.all, want)
		}
	}
}

// TestAttachWithOtherFiles checks that an application that keeps no filtered records is neither ended nor forgotten by a command that wants them.
func TestAttachWithOtherFiles(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.id, b.Filtered = b.begun(application), application, filepath.Join(t.TempDir(), "filtered.csv")
	if _, err := b.build(t.Context()); fail.KindOf(err) != fail.Check || b.manager.killed > 0 || len(b.notes.all) > 0 {
		t.Errorf("%v, killed %d times, %v", err, b.manager.killed, b.notes.all)
	}
}

// TestAdoptForgotten checks that complete output is taken, whatever the servers report.
func TestAdoptForgotten(t *testing.T) {
	for _, id := range []string{"", application} {
		b := newBench(t, "exit 1")
		b.Begun = b.begun(id)
		b.commit()
		if a, err := b.build(t.Context()); err != nil || a.Manifests[0].Digest.Rows != 6000 || len(b.notes.all) > 0 {
			t.Errorf("%q: %v, %v", id, err, b.notes.all)
		}
	}
}

// TestUnknownOutputIsNotComplete checks that nothing says that the build is complete while HDFS does not say so.
func TestUnknownOutputIsNotComplete(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun = b.begun(application)
	broken := errors.New("broken by the test")
	b.out.FS = &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, name string, _ int64) *testfs.Fault {
		if op == testfs.OpStat && path.Base(name) == successName {
			return &testfs.Fault{Err: broken}
		}
		return nil
	}}
	var said []string
	b.Events.OnNote = func(msg string, _ ...any) { said = append(said, msg) }
	if _, err := b.build(t.Context()); !errors.Is(err, broken) || fail.KindOf(err) != fail.HDFS || len(said) > 0 {
		t.Errorf("%v, said: %q", err, said)
	}
}

// TestManagerStarts checks that a command waits for a ResourceManager that is being started, and does not know its applications yet.
func TestManagerStarts(t *testing.T) {
	b := newBench(t, "exit 1")
	m := b.manager
	b.Begun, m.id, m.more = b.begun(application), application, map[string]any{infoPath: map[string]any{}}
	asked := 0
	m.asked = func(m *manager) {
		if asked++; asked == 2 { // by the watch
			m.id, m.asked = "", nil
		}
	}
	done := make(chan error)
	go func() { _, err := b.build(t.Context()); done <- err }()
	testcheck.Eventually(t, time.Minute, "it is asked about itself", func() (bool, any) {
		m.mu.Lock()
		defer m.mu.Unlock()
		n := m.paths[infoPath]
		if n > 1 {
			b.commit()
			m.id, m.state, m.final = application, "FINISHED", "SUCCEEDED"
		}
		return n > 1, n
	})
	if err := <-done; err != nil || len(b.notes.all) > 0 {
		t.Errorf("%v, %v", err, b.notes.all)
	}
}

// TestNoneWhileStarting checks that a ResourceManager that does not say that it is active, and has no application with the tag, does not count as proof that
// none was submitted: the job's directory stays, for the same command and for one that ends the application.
func TestNoneWhileStarting(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.more = b.begun(""), map[string]any{infoPath: map[string]any{}}
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.Load || !strings.Contains(err.Error(), "asks again") || len(b.notes.all) > 0 {
		t.Errorf("%v (%v), %v", err, fail.KindOf(err), b.notes.all)
	}
	if err := Kill(t.Context(), b.Env, *b.Begun); fail.KindOf(err) != fail.Load || !errors.Is(err, yarn.ErrUnreachable) {
		t.Errorf("to end it: %v", err)
	}
	if _, err := os.Stat(b.pipe.dir); err != nil {
		t.Error(err)
	}
}

// TestForgottenMeanwhile checks that a ResourceManager that is started again, and has forgotten the application, ends a running command in a way that the
// same command repairs.
func TestForgottenMeanwhile(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.id = b.begun(application), application
	asked := 0
	b.manager.asked = func(m *manager) {
		if asked++; asked == 2 { // by the watch
			m.id, m.more = "", startedAt(1800000000000)
		}
	}
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.Load || !slices.Equal(b.notes.all, []string{"ended the ResourceManager was started again, and does not know it"}) {
		t.Errorf("%v, %v", err, b.notes.all)
	}
}

// infoPath is the path at which a ResourceManager describes itself.
const infoPath = "/ws/v1/cluster/info"

// startedAt returns what a ResourceManager says about itself that started at a time, in milliseconds.
func startedAt(at int64) map[string]any {
	return map[string]any{infoPath: map[string]any{"clusterInfo": map[string]any{"startedOn": at, "haState": "ACTIVE"}}}
}

// TestForgotten checks that an unknown application, whose output is incomplete, is an error and not silently submitted again.
func TestForgotten(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.more = b.begun(application), startedAt(1_700_000_000_000)
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "YARN does not know") || len(b.notes.all) > 0 {
		t.Errorf("%v, %v", err, b.notes.all)
	}
}

// TestHistoryDown checks that the outcome of an application that the ResourceManager has forgotten is unknown while the history server is out of reach:
// the same command asks again.
func TestHistoryDown(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.more = b.begun(application), startedAt(1_700_000_000_000)
	history := httptest.NewServer(http.NotFoundHandler())
	history.Close()
	b.set("mapred-site.xml", "mapreduce.jobhistory.webapp.address", strings.TrimPrefix(history.URL, "http://"))
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.Load || !errors.Is(err, yarn.ErrUnreachable) || !strings.Contains(err.Error(), "asks again") || len(b.notes.all) > 0 {
		t.Errorf("%v (%v), %v", err, fail.KindOf(err), b.notes.all)
	}
}

// TestSubmitAgain checks that a job that has ended without output, or was never submitted, is submitted again with another tag.
func TestSubmitAgain(t *testing.T) {
	for _, c := range []struct{ id, state, want string }{
		{"", "", "it was not submitted"},
		{application, "KILLED", "it ended as KILLED (KILLED)"},
		{application, "FAILED", "it ended as FAILED (FAILED)"},
		{application, "", "the ResourceManager was started again, and does not know it"},
	} {
		b := newBench(t, `echo "Submitted application application_1700000000000_0002" >&2`)
		b.Begun, b.manager.more = b.begun(c.id), startedAt(1_700_000_000_001)
		if c.state != "" {
			b.manager.id, b.manager.state, b.manager.final = c.id, c.state, c.state
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.Events.OnNote = func(msg string, _ ...any) {
			if msg == "application runs" {
				cancel()
			}
		}
		_, err := b.build(ctx)
		want := []string{"ended " + c.want, "submitting", "submitted application_1700000000000_0002"}
		if !errors.Is(err, context.Canceled) || !slices.Equal(b.notes.all, want) {
			t.Errorf("%s: %v, the journal has %q, not %q", c.state, err, b.notes.all, want)
		}
		if _, err := os.Stat(b.pipe.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: what it left stays: %v", c.state, err)
		}
	}
}

// TestNotSubmitted checks that the failure of the client is the error, and that the journal records that nothing runs.
func TestNotSubmitted(t *testing.T) {
	b := newBench(t, "echo 'no queue of that name' >&2; exit 1")
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "no queue of that name") || !slices.Equal(b.notes.all, []string{"submitting", "ended it was not submitted"}) {
		t.Errorf("%v, %v", err, b.notes.all)
	}
}

// TestVerdictEndsTheJob checks that the permanent error of an attempt kills the application, and is the job's error.
func TestVerdictEndsTheJob(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.id = b.begun(application), application
	cause := fail.Errorf(fail.BadRows, "x.csv: record 7: no key")
	if err := writeVerdict(t.Context(), hdfsio.Local{}, filepath.Join(b.pipe.dir, errorsName), "attempt_1700000000000_0001_m_000001_0", cause); err != nil {
		t.Fatal(err)
	}
	_, err := b.build(t.Context())
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "record 7") || b.manager.killed != 1 || !slices.Equal(b.notes.all, []string{"ended it could not succeed"}) {
		t.Errorf("%v, killed %d times, %v", err, b.manager.killed, b.notes.all)
	}
}

// TestStop checks that stopping the command leaves its application running, or kills it, unless the command has lost its job to another process.
func TestStop(t *testing.T) {
	lost := fail.Errorf(fail.Busy, "another process has taken over this job")
	for _, c := range []struct {
		kill  bool
		cause error
		want  int
	}{{false, context.Canceled, 0}, {true, context.Canceled, 1}, {true, lost, 0}} {
		b := newBench(t, "exit 1")
		b.Begun, b.manager.id, b.KillOnStop = b.begun(application), application, c.kill
		ctx, cancel := context.WithCancelCause(t.Context())
		b.manager.asked = func(*manager) { cancel(c.cause) }
		_, err := b.build(ctx)
		if !errors.Is(err, c.cause) || b.manager.killed != c.want || len(b.notes.all) != c.want {
			t.Errorf("kill %v, %v: %v, killed %d times, %v", c.kill, c.cause, err, b.manager.killed, b.notes.all)
		}
	}
}

// TestKillWaits checks that a ResourceManager that does not answer for a while, after it has accepted the end of an application, is asked again, and that
// the error names it if the caller cannot wait.
func TestKillWaits(t *testing.T) {
	b := newBench(t, "exit 1")
	b.manager.id, b.manager.tag, b.manager.busy = application, "bulkload-1", 3
	c, err := connect(b.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b.yarn = c
	s := Submission{Tag: "bulkload-1", Application: application}
	if err := b.kill(t.Context(), s); err != nil || b.manager.killed != 1 || b.manager.busy != 0 {
		t.Errorf("%v, killed %d times, %d refusals left", err, b.manager.killed, b.manager.busy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.manager.state, b.manager.busy = "RUNNING", 1<<20
	b.manager.asked = func(m *manager) {
		if m.busy == 1<<20-2 {
			cancel()
		}
	}
	if err := b.kill(ctx, s); !errors.Is(err, context.Canceled) || !errors.Is(err, yarn.ErrUnreachable) {
		t.Errorf("it may wait no longer: %v", err)
	}
}

// TestKillIsRepeated checks that the end of an application is asked for again if the ResourceManager has forgotten the request: it failed over before it
// had stored it.
func TestKillIsRepeated(t *testing.T) {
	b := newBench(t, "exit 1")
	b.manager.id, b.manager.tag = application, "bulkload-1"
	c, err := connect(b.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b.yarn = c
	asked := 0
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.manager.asked = func(m *manager) {
		if asked++; asked == 1 {
			m.state, m.final = "RUNNING", "UNDEFINED"
		}
		if asked == 20 {
			stop()
		}
	}
	if err := b.kill(ctx, Submission{Tag: "bulkload-1", Application: application}); err != nil || b.manager.killed != 2 {
		t.Errorf("%v, asked for %d times", err, b.manager.killed)
	}
}

// TestKillRefused checks that an application that the user may not end is a final error, which names the command for one who may.
func TestKillRefused(t *testing.T) {
	b := newBench(t, "exit 1")
	b.manager.id, b.manager.tag, b.manager.refuses = application, "bulkload-1", "java.security.AccessControlException: User etl cannot perform operation MODIFY_APP"
	err := Kill(t.Context(), b.Env, Submission{Tag: "bulkload-1"})
	if fail.KindOf(err) != fail.Check || !errors.Is(err, yarn.ErrDenied) || !strings.Contains(err.Error(), "yarn application -kill "+application) {
		t.Errorf("%v (%v)", err, fail.KindOf(err))
	}
}

// TestTrustStore checks that YARN's web servers with TLS are asked with the trust store of ssl-client.xml, and that a store that cannot be read matters to
// them only.
func TestTrustStore(t *testing.T) {
	b := newBench(t, "exit 1")
	b.manager.id, b.manager.tag = application, "bulkload-1"
	server := httptest.NewTLSServer(b.manager)
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	store := filepath.Join(b.conf, "trust.pem")
	b.set("ssl-client.xml", "ssl.client.truststore.location", store, "ssl.client.truststore.type", "PEM")
	if err := b.Env.Conf.ReadFile(filepath.Join(b.conf, "ssl-client.xml")); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		c, err := connect(b.Env)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Application(t.Context(), application)
		return err
	}
	if err := ask(); err != nil {
		t.Errorf("without TLS, there is no store: %v", err)
	}
	b.set("yarn-site.xml", "yarn.http.policy", "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address", strings.TrimPrefix(server.URL, "https://"))
	if err := ask(); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), store) {
		t.Errorf("no store: %v", err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(store, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("with the store: %v", err)
	}
}

// TestFailed checks that the error of a failed or killed application is YARN's if its tasks report none, and that the application is cleaned up.
func TestFailed(t *testing.T) {
	for final, kind := range map[string]fail.Kind{"FAILED": fail.Unexpected, "KILLED": fail.Load} {
		b := newBench(t, "exit 1")
		b.Begun, b.manager.id = b.begun(application), application
		asked := 0
		b.manager.asked = func(m *manager) {
			if asked++; asked == 2 {
				m.state, m.final = final, final
			}
		}
		_, err := b.build(t.Context())
		if fail.KindOf(err) != kind || !strings.Contains(err.Error(), "what YARN says") || len(b.notes.all) != 1 {
			t.Errorf("%s: %v (%v), %v", final, err, fail.KindOf(err), b.notes.all)
		}
	}
}

// TestDamagedOutput checks that an output with a missing description is an error, and that no file of it is adopted.
func TestDamagedOutput(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun = b.begun(application)
	b.commit()
	if err := os.Remove(filepath.Join(b.pipe.dir, outName, reduceFile(1))); err != nil {
		t.Fatal(err)
	}
	_, err := b.build(t.Context())
	if err == nil || !strings.Contains(err.Error(), "r-00001.json") {
		t.Errorf("%v", err)
	}
	if files, err := os.ReadDir(b.out.Dir); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}
