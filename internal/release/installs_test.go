package release

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// system is a root directory with Debian, to install packages and run programs in.
type system struct {
	t    *testing.T
	root string
}

// debian returns a new system, a copy of one that debootstrap creates once in the user's cache.
func debian(t *testing.T) *system {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(cache, "bulkload", "debian-bookworm")
	if _, err := os.Stat(base); err != nil {
		part := base + ".part"
		command(t, "rm", "-rf", part)
		command(t, "debootstrap", "--variant=minbase", "bookworm", part)
		command(t, "mv", part, base)
	}
	root := filepath.Join(t.TempDir(), "root")
	command(t, "cp", "-a", base, root)
	if err := os.WriteFile(root+"/etc/hosts", []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return &system{t, root}
}

// command runs a command and returns its output. The test ends if the command fails.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	for _, v := range os.Environ() { // the systems do not use the tests' cluster
		if !strings.HasPrefix(v, "HADOOP_") && !strings.HasPrefix(v, "HBASE_") && !strings.HasPrefix(v, "BULKLOAD_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// bring copies a file into the root directory, and returns its name there.
func (s *system) bring(from string) string {
	s.t.Helper()
	to := "/tmp/" + filepath.Base(from)
	if err := os.WriteFile(s.root+to, read(s.t, from), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return to
}

// as returns the arguments that run a command as a user in the root directory.
func (s *system) as(user string, args ...string) []string {
	return append([]string{"chroot", "--userspec=" + user, s.root}, args...)
}

// does runs a command as a user, and returns its output.
func (s *system) does(user string, args ...string) string {
	s.t.Helper()
	return command(s.t, s.as(user, args...)...)
}

// versions makes two releases of this platform, an older one and the version of README.
func versions(t *testing.T) (older, newer *released) {
	t.Helper()
	version, _ := readmeVersion(t)
	for r, version := range map[**released]string{&older: version + "-try.1", &newer: version} {
		o := Options{Root: "../..", Out: t.TempDir(), Version: version, Platforms: []string{"linux/amd64"}}
		names, err := Make(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		*r = &released{dir: o.Out, names: names, version: version}
	}
	return older, newer
}

// installer installs packages of one kind.
type installer struct {
	end                     string
	install, upgrade, erase func(s *system, file string) // erase ignores file
}

func installers() []installer {
	dpkg := func(s *system, file string) { s.does("root", "dpkg", "-i", s.bring(file)) }
	rpm := func(how ...string) func(s *system, file string) {
		// rpm does not know Debian's own database, so dependencies are not checked.
		return func(s *system, file string) {
			command(s.t, append(append([]string{"rpm", "--root", s.root, "--nodeps"}, how...), file)...)
		}
	}
	return []installer{
		{".deb", dpkg, dpkg, func(s *system, _ string) { s.does("root", "dpkg", "--purge", "bulkload") }},
		{".rpm", rpm("-i"), rpm("-U"), func(s *system, _ string) { command(s.t, "rpm", "--root", s.root, "--nodeps", "-e", "bulkload") }},
	}
}

// TestReleased makes two versions, and installs and runs their files like a user.
func TestReleased(t *testing.T) {
	if os.Getenv("BULKLOAD_RELEASE") == "" {
		t.Skip("make test-release installs packages in a root directory of Debian, and runs the image in namespaces")
	}
	older, newer := versions(t)
	for _, in := range installers() {
		t.Run("install "+in.end, func(t *testing.T) { in.installs(t, older, newer) })
	}
	t.Run("upgrade during jobs", func(t *testing.T) { upgradesDuringJobs(t, older, newer) })
	t.Run("image", newer.runsImage)
	t.Run("Python on a cluster", newer.loadsByPython)
	newer.runsReadme(t, installationsAsRoot())
}

// installs installs a package in a new Debian, uses it like its service, changes its configuration, upgrades it to the next version and removes it.
// Files that an administrator has written, and journals, stay.
func (in installer) installs(t *testing.T, older, newer *released) {
	s := debian(t)
	in.install(s, older.file(t, in.end))
	s.checkInstalled(older.version)
	const mine = "HADOOP_USER_NAME=mine\n"
	if err := os.WriteFile(s.root+"/etc/bulkload/environment", []byte(mine), 0o640); err != nil {
		t.Fatal(err)
	}
	in.upgrade(s, newer.file(t, in.end))
	s.checkInstalled(newer.version)
	if got := string(read(t, s.root+"/etc/bulkload/environment")); got != mine {
		t.Errorf("the environment is %q after the upgrade", got)
	}
	if err := os.WriteFile(s.root+"/var/lib/bulkload/journal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in.erase(s, "")
	for name, stays := range map[string]bool{"/usr/bin/bulkload": false, "/usr/lib/systemd/system/bulkload@.service": false, "/var/cache/bulkload": false, "/var/lib/bulkload/journal": true} {
		if _, err := os.Stat(s.root + name); (err == nil) != stays {
			t.Errorf("after the removal %s: %v", name, err)
		}
	}
}

// checkInstalled builds HFiles of the package's sample as the service's user.
func (s *system) checkInstalled(version string) {
	s.t.Helper()
	if out := s.does("bulkload", "bulkload", "version"); !strings.HasPrefix(out, "bulkload "+version+" ") {
		s.t.Errorf("version: %s, want %s", out, version)
	}
	for name, want := range map[string]string{"/etc/bulkload": "750 root bulkload", "/etc/bulkload/environment": "640 root bulkload", "/var/lib/bulkload": "700 bulkload bulkload"} {
		if got := strings.TrimSpace(s.does("root", "stat", "-c", "%a %U %G", name)); got != want {
			s.t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	const doc = "/usr/share/doc/bulkload"
	out := s.does("bulkload", "bulkload", "build", "--log-level", "error", "--job", doc+"/examples/check.yaml", "--input", doc+"/testdata/exports/check.csv",
		"--out", "/var/lib/bulkload/hfiles-"+version, "--splits", "1,2,3,4,5,6,7,8,9")
	if !strings.Contains(out, " in 10 HFiles of ") {
		s.t.Errorf("build: %s", out)
	}
}

// upgradesDuringJobs upgrades to the next version while a job runs. The old program completes that job, and the new program resumes a job in which
// the old one was killed. It needs the cluster that make test-release starts.
func upgradesDuringJobs(t *testing.T, older, newer *released) {
	if os.Getenv("HADOOP_CONF_DIR") == "" {
		t.Skip("make test-release starts a cluster")
	}
	s := debian(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	deb := installers()[0]
	deb.install(s, older.file(t, deb.end))
	command(t, "cp", "-rL", os.Getenv("HADOOP_CONF_DIR"), s.root+"/etc/hadoop-conf")
	table := fmt.Sprintf("upgrade_%d", time.Now().UnixNano())
	program := func(args ...string) *exec.Cmd {
		all := append([]string{"env", "-i", "PATH=/usr/bin", "HOME=/var/lib/bulkload", "HADOOP_CONF_DIR=/etc/hadoop-conf", "HBASE_CONF_DIR=/etc/hadoop-conf", "HADOOP_USER_NAME=" + me.Username, "bulkload"}, args...)
		args = s.as("bulkload", all...)
		return exec.CommandContext(t.Context(), args[0], args[1:]...)
	}
	does := func(args ...string) string {
		t.Helper()
		out, err := program(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	does("table", "create", table+"_a", "--salts", "10")
	does("table", "create", table+"_b", "--salts", "10")
	const doc = "/usr/share/doc/bulkload"
	job := func(table string, more ...string) []string {
		return append([]string{"run", "--job", doc + "/examples/check.yaml", "--table", table, "--input", "/tmp/many.csv", "--verify", "full",
			"--state", "/var/lib/bulkload"}, more...)
	}
	if err := os.WriteFile(s.root+"/tmp/many.csv", manyRecords(t), 0o644); err != nil {
		t.Fatal(err)
	}
	// Slow uploads keep both jobs in their build.
	running, killed := program(job(table+"_a", "--upload-limit", "128KiB")...), program(job(table+"_b", "--upload-limit", "64KiB")...)
	var out bytes.Buffer
	for _, cmd := range []*exec.Cmd{running, killed} {
		cmd.Stdout, cmd.Stderr = &out, &out
	}
	for _, cmd := range []*exec.Cmd{running, killed} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { t.Log(out.String()) }()
	s.waitForJournals(2, `"written"`)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	deb.upgrade(s, newer.file(t, deb.end))
	if err := running.Wait(); err != nil {
		t.Errorf("the job that ran: %v\n%s", err, out.String())
	}
	if got := does("version"); !strings.HasPrefix(got, "bulkload "+newer.version+" ") {
		t.Errorf("version: %s", got)
	}
	t.Log(does(job(table + "_b")...))
	for _, end := range []string{"_a", "_b"} {
		again := program(append(job(table+end), "--skip-exit-code")...)
		if out, err := again.CombinedOutput(); again.ProcessState.ExitCode() != 99 {
			t.Errorf("%s is not complete: %v\n%s", end, err, out)
		}
	}
}

// manyRecords returns the sample twenty times, each time with other ids.
func manyRecords(t *testing.T) []byte {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(read(t, "../../testdata/exports/check.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	all := slices.Clone(records[:1])
	for i := range 20 {
		for _, r := range records[1:] {
			r = slices.Clone(r)
			r[0] = fmt.Sprintf("%s-%d", r[0], i)
			all = append(all, r)
		}
	}
	if err := w.WriteAll(all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// waitForJournals waits until n journals contain a text.
func (s *system) waitForJournals(n int, text string) {
	s.t.Helper()
	seen := ""
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); strings.Count(seen, "\n") != n; {
		select {
		case <-tick:
		case <-ctx.Done():
			s.t.Fatalf("journals with %s: %s", text, seen)
		}
		out, err := exec.CommandContext(ctx, "grep", "-rlF", text, s.root+"/var/lib/bulkload").Output()
		if _, none := errors.AsType[*exec.ExitError](err); err == nil || none {
			seen = string(out)
		}
	}
}

// runsImage unpacks the image and runs it as its user in its own namespaces, where only the program exists; it knows time zones.
func (r *released) runsImage(t *testing.T) {
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	r.unpackImage(t, root)
	for _, name := range []string{"examples/check.yaml", "testdata/exports/check.csv"} { // in place of a volume
		if err := os.WriteFile(filepath.Join(root, "tmp", filepath.Base(name)), read(t, filepath.Join("../..", name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		return command(t, append([]string{"unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--net", "chroot", "--userspec=65532:65532", root, "/usr/local/bin/bulkload"}, args...)...)
	}
	if out := run("version"); !strings.HasPrefix(out, "bulkload "+r.version+" ") {
		t.Errorf("version: %s", out)
	}
	out := run("build", "--log-level", "error", "--job", "/tmp/check.yaml", "--input", "/tmp/check.csv", "--out", "/var/lib/bulkload/{{ .Date \"20060102\" }}", "--time-zone", "Asia/Shanghai",
		"--splits", "1,2,3,4,5,6,7,8,9")
	if !strings.Contains(out, " in 10 HFiles of ") {
		t.Errorf("build: %s", out)
	}
	if _, err := exec.LookPath("skopeo"); err == nil {
		if out := command(t, "skopeo", "inspect", "oci-archive:"+r.file(t, ".oci.tar")); !strings.Contains(out, `"Architecture": "amd64"`) {
			t.Errorf("skopeo: %s", out)
		}
	}
}
