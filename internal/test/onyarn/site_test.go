package onyarn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// site is a cluster with the program and its user.
type site struct {
	*testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env // of the user
	super   *cluster.Env // of a user that may read all files
	user    string
	program string
	tmp     string // TMPDIR of the program
	environ []string
}

// on starts a cluster and builds the program. Without security it uses the cluster that [testcluster.EnvConf] names,
// if that has YARN.
func on(t *testing.T, o testcluster.Options) *site {
	t.Helper()
	program := jobtest.Program(t)
	c := attached(t, o)
	if c == nil {
		c = testcluster.Own(t, o)
	}
	s := &site{T: t, cluster: c, program: program, tmp: t.TempDir()}
	s.environ = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "HADOOP_USER_NAME=") })
	s.environ = append(append(s.environ, c.Environment()...), "BULKLOAD_STATE="+t.TempDir(), "TMPDIR="+s.tmp)
	if o.Security.Kerberos {
		t.Setenv("KRB5_CONFIG", c.Krb5Conf())
		s.user = testcluster.Loader
		s.env, s.super = s.as(testcluster.Loader), s.as(testcluster.HDFSAdmin)
		return s
	}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.user = who.Username
	s.env, s.super = jobtest.ClusterEnvAs(t, c, s.user), jobtest.ClusterEnvAs(t, c, "hbase")
	return s
}

// attached returns the running cluster of the environment, nil if it is of another kind.
func attached(t *testing.T, o testcluster.Options) *testcluster.Cluster {
	conf := os.Getenv(testcluster.EnvConf)
	if conf == "" || o.Security != (testcluster.Security{}) {
		return nil
	}
	c, err := testcluster.Attach(context.Background(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if c.HadoopHome() == "" || c.Security() != o.Security {
		return nil
	}
	return c
}

// as returns the environment of a user or a daemon of a cluster with Kerberos.
func (s *site) as(name string) *cluster.Env {
	env := jobtest.ClusterEnvAs(s.T, s.cluster, name)
	env.Identity = cluster.Identity{Principal: testcluster.Principal(name), Keytab: s.cluster.Keytab(name)}
	return env
}

// in returns the site in a subtest.
func (s *site) in(t *testing.T) *site {
	own := *s
	own.T = t
	return &own
}

// with returns the site with more variables in the environment of the program.
func (s *site) with(environ ...string) *site {
	own := *s
	own.environ = append(slices.Clone(s.environ), environ...)
	return &own
}

// asks returns a client of the cluster's YARN.
func (s *site) asks() *yarn.Client {
	s.Helper()
	var conf hdfsio.Conf
	for _, name := range []string{"core-site.xml", "yarn-site.xml", "mapred-site.xml"} {
		if err := conf.ReadFile(filepath.Join(s.cluster.ConfDir(), name)); err != nil {
			s.Fatal(err)
		}
	}
	o := yarn.Options{User: s.user}
	if s.cluster.Security().Kerberos {
		login, err := s.env.Login()
		if err != nil {
			s.Fatal(err)
		}
		if err := o.Secure(login, conf.Value); err != nil {
			s.Fatal(err)
		}
	}
	var err error
	if o.Addresses, err = yarn.FromConf(conf.Value); err != nil {
		s.Fatal(err)
	}
	c, err := yarn.New(o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// text is the output of a process, which can be read concurrently.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// running is a command in progress.
type running struct {
	site  *site
	cmd   *exec.Cmd
	out   bytes.Buffer
	said  text
	began time.Time
}

// ended is the result of a command.
type ended struct {
	code   int // -1 if a signal has ended it
	result map[string]any
	said   string
}

// start runs the program.
func (s *site) start(args ...string) *running {
	s.Helper()
	r := &running{site: s, cmd: exec.CommandContext(s.Context(), s.program, append(args, "--output", "json")...), began: time.Now()}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = s.environ, &r.out, &r.said
	if err := r.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return r
}

// wait returns when the program has ended.
func (r *running) wait() ended {
	r.site.Helper()
	err := r.cmd.Wait()
	r.site.Logf("%s: %.1f s", r.cmd.Args[1], time.Since(r.began).Seconds())
	e := ended{said: r.said.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if e.code = exit.ExitCode(); exit.Sys().(syscall.WaitStatus).Signaled() {
			e.code = -1
		}
	} else if err != nil {
		r.site.Fatal(err)
	}
	_ = json.Unmarshal(r.out.Bytes(), &e.result)
	return e
}

// do runs the program to its end.
func (s *site) do(args ...string) ended { s.Helper(); return s.start(args...).wait() }

// must is do for a command that must succeed.
func (s *site) must(args ...string) ended {
	s.Helper()
	e := s.do(args...)
	if e.code != 0 {
		s.Fatalf("%v ends with %d: %s", args, e.code, e.said)
	}
	return e
}
