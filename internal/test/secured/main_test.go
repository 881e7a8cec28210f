package secured

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// root is the top of the checkout.
const root = "../../.."

func TestMain(m *testing.M) { testcluster.Main(m) }

// full reports whether the full suite runs.
func full() bool { return os.Getenv(testcluster.EnvSecure) != "" }

// built are the programs by name. They are in the checkout's build directory, so that they need not be removed.
var built struct {
	mu   sync.Mutex
	path map[string]string
}

// build builds a program from the command with these arguments of "go build", once.
func build(t testing.TB, name string, args ...string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if path := built.path[name]; path != "" {
		return path
	}
	path, err := filepath.Abs(filepath.Join(root, "build", "secured", name))
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"build", "-o", path}, args...)
	if out, err := exec.CommandContext(t.Context(), "go", append(argv, "bulkload/cmd/bulkload")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if built.path == nil {
		built.path = map[string]string{}
	}
	built.path[name] = path
	return path
}

// program returns the built program, which can kill itself after a record of its journal.
func program(t testing.TB) string { return jobtest.Program(t) }

// site is a cluster with directories for the program's files.
type site struct {
	c       *testcluster.Cluster
	program string
	user    string // user of the program
	dir     string // state and temporary files
	inputs  string // a directory of HDFS, in the encryption zone of a cluster that has one
	env     []string
}

// at returns a site of the shared cluster of a kind. Tests that share a cluster have their own sites.
func at(t *testing.T, s testcluster.Security) *site {
	t.Helper()
	start := time.Now()
	c := testcluster.Secured(t, s)
	if took := time.Since(start); took > time.Second {
		t.Logf("the cluster is up after %s", took.Round(time.Second))
	}
	return on(t, c)
}

// on returns a site of a cluster.
func on(t *testing.T, c *testcluster.Cluster) *site {
	return &site{c: c, program: program(t), user: testcluster.Loader, dir: t.TempDir()}
}

// as returns the site of another user.
func (s *site) as(user string) *site {
	other := *s
	other.user = user
	return &other
}

// with returns the site with more variables in the environment, or with other values.
func (s *site) with(env ...string) *site {
	other := *s
	other.env = append(slices.Clone(s.env), env...)
	return &other
}

// environment returns the environment of the program.
func (s *site) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		for _, prefix := range []string{"HADOOP_", "HBASE_", "BULKLOAD_", "KRB5", "TMPDIR="} {
			if strings.HasPrefix(kv, prefix) {
				return true
			}
		}
		return false
	})
	env = append(env, "HADOOP_CONF_DIR="+s.c.ConfDir(), "HBASE_CONF_DIR="+s.c.ConfDir(), "BULKLOAD_STATE="+filepath.Join(s.dir, "state"),
		"TMPDIR="+s.dir, "HOME="+s.dir, "KRB5CCNAME=FILE:"+filepath.Join(s.dir, "no-cache"))
	if s.c.Security().Kerberos {
		env = append(env, "KRB5_CONFIG="+s.c.Krb5Conf(), "BULKLOAD_PRINCIPAL="+testcluster.Principal(s.user), "BULKLOAD_KEYTAB="+s.c.Keytab(s.user))
	} else {
		user, _, _ := strings.Cut(s.user, "/") // a daemon's principal
		env = append(env, "HADOOP_USER_NAME="+user)
	}
	return append(env, s.env...)
}

// ended is the result of a command.
type ended struct {
	argv     []string
	code     int // 128 plus the signal's number if a signal ended it
	out, err string
	took     time.Duration
}

// mostTime is the time limit of a command of the program.
const mostTime = 8 * time.Minute

// command returns a command of the program that has not been started.
func (s *site) command(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), s.program, args...)
	cmd.Dir, cmd.Env = root, s.environment()
	return cmd
}

// do runs a command of the program to its end.
func (s *site) do(t testing.TB, args ...string) ended {
	t.Helper()
	cmd := s.command(t, args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	start := time.Now()
	if e := cmd.Start(); e != nil {
		t.Fatal(e)
	}
	timer := time.AfterFunc(mostTime, func() { cmd.Process.Kill() })
	e := cmd.Wait()
	timer.Stop()
	r := ended{argv: args, out: out.String(), err: err.String(), took: time.Since(start)}
	if x, ok := errors.AsType[*exec.ExitError](e); ok {
		r.code = cmp.Or(max(x.ExitCode(), 0), 128+9)
	} else if e != nil {
		t.Fatal(e)
	}
	return r
}

// must is do for a command that must succeed.
func (s *site) must(t testing.TB, args ...string) ended {
	t.Helper()
	r := s.do(t, args...)
	if r.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", strings.Join(args, " "), r.code, r.err)
	}
	return r
}

// message returns the last line of the program's output, its error.
func (e ended) message() string {
	text := "\n" + strings.TrimSpace(e.err)
	if i := strings.LastIndex(text, "\nbulkload: "); i >= 0 {
		return text[i+1:]
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// adm runs a command of HBase's Java client as HBase's own user.
func (s *site) adm(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.c.AdminT(t).Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// create creates a table with a region for each salt and gives the users their rights. It drops the table at the test's end,
// unless the test failed.
func (s *site) create(t *testing.T, table string, salts int, flags ...string) {
	t.Helper()
	s.adm(t, "drop", table)
	args := []string{"create", table, "--compression", "SNAPPY", "--encoding", "FAST_DIFF", "--bloom", "ROW"}
	if b := boundaries(salts); b != "" {
		args = append(args, "--splits", b)
	}
	s.adm(t, append(args, flags...)...)
	if s.c.Security().Kerberos {
		if err := s.c.Grant(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	s.dropAtEnd(t, table)
}

// dropAtEnd drops a table at the test's end, unless the test failed.
func (s *site) dropAtEnd(t *testing.T, table string) {
	t.Cleanup(func() {
		if t.Failed() {
			return // the table is evidence
		}
		a, err := s.c.Admin(context.Background()) // the test's own has ended
		if err == nil {
			_, err = a.Run(context.Background(), "drop", table)
		}
		if err != nil {
			t.Logf("table %s is not dropped: %v", table, err)
		}
	})
}

// digest returns the digest of a table by the user's own Java client, logged in by Kerberos.
func (s *site) digest(t testing.TB, table string) string {
	t.Helper()
	a := s.c.AdminAsT(t, s.user)
	out, err := a.Digest(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// boundaries returns the split points of a table with a region for each of n salts.
func boundaries(n int) string {
	var all []string
	width := len(fmt.Sprint(n - 1))
	for i := 1; i < n; i++ {
		all = append(all, fmt.Sprintf("%0*d", width, i))
	}
	return strings.Join(all, ",")
}
