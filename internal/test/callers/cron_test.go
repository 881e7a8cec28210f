package callers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// cronDaemon returns Debian's cron: the machine's, else one that is unpacked into the user's cache, so that nothing
// is installed and no service is started.
func cronDaemon(t *testing.T) string {
	t.Helper()
	if name, err := exec.LookPath("/usr/sbin/cron"); err == nil {
		return name
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "bulkload", "cron")
	name := filepath.Join(dir, "usr/sbin/cron")
	if _, err := os.Stat(name); err == nil {
		return name
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", "apt-get download cron || { apt-get update -qq; apt-get download cron; }; dpkg -x cron_*.deb .; rm cron_*.deb")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpack cron: %v: %s", err, out)
	}
	return name
}

// cronScript runs cron with private files: the crontab, the users, /run, and a sendmail.
const cronScript = `
mount -t tmpfs none /run
mount -t tmpfs none /var/spool && mkdir -p -m 1730 /var/spool/cron/crontabs
mkdir -p /etc/cron.d && mount -t tmpfs none /etc/cron.d
cp "$DIR/crontab" /etc/cron.d/bulkload && chmod 644 /etc/cron.d/bulkload
if [ -e /etc/crontab ]; then mount --bind /dev/null /etc/crontab; fi
{ grep -v ^bulkload: /etc/passwd; echo "bulkload:*:65532:65532::/:/usr/sbin/nologin"; } >"$DIR/passwd" && mount --bind "$DIR/passwd" /etc/passwd
cp "$CRON" "$DIR/cron"
mount -t tmpfs none /usr/sbin && cp "$DIR/sendmail" /usr/sbin/ && chmod 755 /usr/sbin/sendmail
exec "$DIR/cron" -f
`

// A cronLab is a site whose jobs run by cron.
type cronLab struct {
	site    *site
	dir     string
	mails   string        // a directory
	codes   string        // a file of the jobs' exit codes
	missing string        // the export that arrives late
	ended   chan struct{} // closed when cron has ended
	said    strings.Builder
}

// yesterday returns the day that the crontab's jobs load.
func yesterday(t *testing.T) string {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai") // the time zone of the crontab
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().In(shanghai)
	if now.Add(6*time.Minute).YearDay() != now.YearDay() {
		t.Skip("yesterday is about to be another day")
	}
	return now.AddDate(0, 0, -1).Format("20060102")
}

// newCronLab creates a site with the files that cron needs.
func newCronLab(t *testing.T) *cronLab {
	t.Helper()
	day := yesterday(t)
	c := &cronLab{site: newSite(t, day), dir: t.TempDir(), ended: make(chan struct{})}
	c.mails, c.codes = filepath.Join(c.dir, "mails"), filepath.Join(c.dir, "codes")
	// Users other than root must traverse the directories of a test.
	if err := errors.Join(os.Chmod(filepath.Dir(c.dir), 0o755), os.Mkdir(c.mails, 0o777), os.Chmod(c.mails, 0o777), os.Chown(c.site.state, 65532, 65532)); err != nil {
		t.Fatal(err)
	}
	c.write(t, "codes", "")
	if err := os.Chmod(c.codes, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"check", "opinion"} {
		b, err := os.ReadFile(filepath.Join(c.site.jobs, table+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, table+".yaml", strings.Replace(string(b), "\ntable: "+table+"\n", "\ntable: "+c.site.tables+table+"\n", 1))
	}
	c.write(t, "sendmail", fmt.Sprintf("#!/bin/sh\ncat >%[1]s/.$$ && mv %[1]s/.$$ %[1]s/mail.$$\n", c.mails))
	conf := filepath.Join(c.dir, "conf") // only its user may be able to read the cluster's own
	if err := os.CopyFS(conf, os.DirFS(c.site.cluster.ConfDir())); err != nil {
		t.Fatal(err)
	}
	c.write(t, "crontab", c.crontab(t, conf))
	c.missing = filepath.Join(c.site.exports, "opinion", day)
	if err := os.Rename(c.missing, c.missing+".late"); err != nil {
		t.Fatal(err)
	}
	return c
}

// write writes a file of the directory.
func (c *cronLab) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// crontab returns the example's crontab, with each minute instead of each night, and an additional line for a
// concurrent run.
func (c *cronLab) crontab(t *testing.T, conf string) string {
	t.Helper()
	crontab, err := os.ReadFile(root + "/examples/cron/bulkload")
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for line := range strings.Lines(strings.NewReplacer("/usr/local/bin:", program(t)+":", "=/etc/hadoop/conf", "="+conf,
		"=/etc/hbase/conf", "="+conf, "/var/lib/bulkload", c.site.state, "/etc/bulkload", c.dir, "hdfs:///user/tina", c.site.exports,
		"30 2 * * *", "* * * * *", "45 2 * * *", "* * * * *").Replace(string(crontab))) {
		if strings.HasPrefix(line, "* * * * * bulkload bulkload run") {
			name := "check"
			if strings.Contains(line, "opinion.yaml") {
				name = "opinion"
			}
			line = fmt.Sprintf("%s; c=$?; echo %s $c >>%s; exit $c\n", strings.TrimSpace(line), name, c.codes)
			if name == "check" {
				line += line // a concurrent run of the same job
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// start starts cron, which ends with the test.
func (c *cronLab) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-eu", "-c", cronScript)
	cmd.Env = append(os.Environ(), "DIR="+c.dir, "CRON="+cronDaemon(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Stdout, cmd.Stderr = &c.said, &c.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(c.ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-c.ended
		if b, _ := os.ReadFile(c.codes); t.Failed() {
			t.Logf("%s\nexit codes %q\nmails %q", c.said.String(), b, readMails(t, c.mails))
		}
	})
}

// alive returns true, or ends the test if cron has ended.
func (c *cronLab) alive(t *testing.T) bool {
	t.Helper()
	select {
	case <-c.ended:
		t.Fatal("cron ended: ", c.said.String())
	default:
	}
	return true
}

// code checks that a job has ended with an exit code.
func (c *cronLab) code(t *testing.T, want string) func() (bool, any) {
	return func() (bool, any) {
		b, _ := os.ReadFile(c.codes)
		return c.alive(t) && strings.Contains(string(b), want+"\n"), fmt.Sprintf("exit codes %q", b)
	}
}

// TestCron runs the example's lines with cron itself, each minute instead of each night: a success is silent, a
// failure is one mail with the error, and a run that is concurrent with another exits 75.
func TestCron(t *testing.T) {
	if testing.Short() || os.Getenv("BULKLOAD_TEST_CRON") == "" {
		t.Skip("takes minutes: make test-cron")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, for a mount namespace")
	}
	c := newCronLab(t)
	c.start(t)
	c.jobsRun(t)
	c.failuresAreMailed(t)
}

// jobsRun checks that one run finds another, that one is too early, and that each succeeds in the end. Then there is
// nothing to do.
func (c *cronLab) jobsRun(t *testing.T) {
	// One of two runs is suspended until the other has found it.
	testcheck.Eventually(t, 2*time.Minute, "a first run", func() (bool, any) { return c.alive(t) && c.site.holder("check") != 0, c.said.String() })
	first := c.site.holder("check")
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(first, syscall.SIGCONT) })
	testcheck.Eventually(t, time.Minute, "exit code 75 of a second run", c.code(t, "check 75"))
	if err := syscall.Kill(first, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testcheck.Eventually(t, time.Minute, "exit code 5 of the load without an export", c.code(t, "opinion 5"))
	if err := os.Rename(c.missing+".late", c.missing); err != nil {
		t.Fatal(err)
	}
	testcheck.Eventually(t, 2*time.Minute, "the end of the first run", c.code(t, "check 0"))
	testcheck.Eventually(t, 3*time.Minute, "the late load", c.code(t, "opinion 0"))
	c.site.judge(t, "check")
	c.site.judge(t, "opinion")
	testcheck.Eventually(t, 2*time.Minute, "a round with nothing to do", func() (bool, any) {
		b, _ := os.ReadFile(c.codes)
		return c.alive(t) && strings.Count(string(b), "check 0\n") >= 2, fmt.Sprintf("exit codes %q", b)
	})
}

// failuresAreMailed checks that each failure is one mail with the error, and that a success sends none.
func (c *cronLab) failuresAreMailed(t *testing.T) {
	// A mail is sent after the end of its command.
	testcheck.Eventually(t, time.Minute, "the mails", func() (bool, any) {
		b, _ := os.ReadFile(c.codes)
		came := readMails(t, c.mails)
		return len(came) >= strings.Count(string(b), "\n")-strings.Count(string(b), " 0\n"), fmt.Sprintf("exit codes %q, mails %q", b, came)
	})
	got := map[string]int{}
	for _, m := range readMails(t, c.mails) {
		if !strings.Contains(m, "To: data-platform@example.com\n") {
			t.Errorf("a mail to another user: %s", m)
		}
		_, body, _ := strings.Cut(m, "\n\n")
		switch {
		case strings.Contains(body, c.missing) && strings.Count(strings.TrimSpace(body), "\n") == 0:
			got["missing"]++
		case strings.Contains(body, "this job is running already: process ") && strings.Count(strings.TrimSpace(body), "\n") == 0:
			got["busy"]++
		default:
			got["other"]++
			t.Errorf("unexpected mail: %s", m)
		}
		t.Log(strings.TrimSpace(body))
	}
	b, _ := os.ReadFile(c.codes)
	t.Logf("exit codes: %q", b)
	if n := strings.Count(string(b), " 75\n"); got["missing"] != 1 || got["busy"] != n || got["other"] != 0 {
		t.Errorf("mails %v", got)
	}
}

func readMails(t *testing.T, dir string) (mails []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "mail.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		mails = append(mails, string(b))
	}
	return mails
}
