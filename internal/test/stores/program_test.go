package stores

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

const secret = "wJalrXUtnFEMIsecret"

// program runs the program with credentials of S3 in its environment, and checks that it prints none of them.
func program(t *testing.T, args ...string) (out string, cpu time.Duration, err error) {
	t.Helper()
	cmd := exec.Command(jobtest.Program(t), args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=AKIAX", "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN=token"+secret, "AWS_ENDPOINT_URL=")
	b := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = b, b
	err = cmd.Run()
	if strings.Contains(b.String(), secret) {
		t.Errorf("%q prints a secret", args)
	}
	return b.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// build builds HFiles of inputs, the same ones at any time.
func build(t *testing.T, out string, args ...string) (hashes map[string]string, wall, cpu time.Duration) {
	t.Helper()
	began := time.Now()
	text, cpu, err := program(t, append([]string{"build", "--table", "t", "--key", "md5hex(id) + id", "--splits", "hex:4", "--timestamp", "1700000000000", "--progress", "off", "--out", out}, args...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	wall = time.Since(began)
	return jobtest.Hashes(t, out), wall, cpu
}

// TestProgram builds the same HFiles from a bucket as from local disk, in one process and in shares, and inspects the
// objects.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	r := testcheck.Rand(t)
	testcheck.Must(t, os.MkdirAll(filepath.Join(dir, "x"), 0o755))
	for i := range 2 {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, "x", fmt.Sprintf("%d.csv", i)), fmt.Appendf(nil, "id,text\n%d1,x\n%d2,y\n", i, i), 0o644))
	}
	s := &S3{Bucket: "b"}
	testcheck.Must(t, s.Serve(dir))
	server := httptest.NewServer(NewProxy(s, rand.New(rand.NewPCG(r.Uint64(), 1)), Harm{Busy: 0.05}))
	defer server.Close()
	endpoint := "s3=" + server.URL
	want, _, _ := build(t, filepath.Join(t.TempDir(), "out"), "--input", filepath.Join(dir, "x"))
	got, _, _ := build(t, filepath.Join(t.TempDir(), "out"), "--input", "s3://b/x/*.csv", "--endpoint", endpoint)
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if out, _, err := program(t, "inspect", "s3://b/x", "--endpoint", endpoint); err != nil || !strings.Contains(out, "s3://b/x/0.csv: text") {
		t.Errorf("%v: %s", err, out)
	}
	shared := t.TempDir()
	plan := filepath.Join(shared, "plan.json")
	run := func(args ...string) {
		t.Helper()
		if out, _, err := program(t, args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("plan", "--table", "t", "--key", "md5hex(id) + id", "--splits", "hex:4", "--timestamp", "1700000000000", "--input", "s3://b/x", "--endpoint", endpoint, "--out", plan)
	for _, share := range []string{"1/2", "2/2"} {
		run("build", "--plan", plan, "--share", share, "--out", filepath.Join(shared, "s"), "--endpoint", endpoint)
	}
	run("merge", "--endpoint", endpoint, "--plan", plan, "--shares", filepath.Join(shared, "s"), "--out", filepath.Join(shared, "out"))
	merged := jobtest.Hashes(t, filepath.Join(shared, "out"))
	for name, hash := range want {
		if strings.HasPrefix(name, "f/") && merged[name] != hash {
			t.Errorf("%s of shares is %s, want %s", name, merged[name], hash)
		}
	}
	s.Put("x/0.csv", []byte("id,text\n31,x\n32,y\n"), time.Now())
	if out, _, err := program(t, "build", "--plan", plan, "--share", "1/2", "--out", filepath.Join(shared, "again"), "--endpoint", endpoint); err == nil || !strings.Contains(out, "s3://b/x/0.csv") {
		t.Errorf("a changed object in shares: %v, %s", err, out)
	}
}

// TestProgramRefuses checks the messages about inputs and outputs that the program does not accept, which must not
// contain secrets.
func TestProgramRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"inspect", "s3://AKIA:" + secret + "@b/x"}, "input s3://…: a bucket's name has no colon: credentials come from the environment, addresses from --endpoint"},
		{[]string{"build", "--table", "t", "--key", "id", "--splits", "hex:4", "--out", t.TempDir(), "--input", "s3://AKIA:" + secret + "@b/x"}, "credentials come from the environment"},
		{[]string{"inspect", "s3://b/x", "--endpoint", "s3=https://AKIA:" + secret + "@h"}, "--endpoint: endpoint s3=…: credentials do not belong into an endpoint"},
		{[]string{"inspect", "oss://b/x"}, "oss://b has no address of its own: give the region's with `endpoint`, as oss=https://HOST"},
		{[]string{"inspect", "abfs://b/x"}, "want abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"},
		{[]string{"build", "--table", "t", "--key", "id", "--splits", "hex:4", "--out", "s3://b/out", "--input", t.TempDir()}, "s3:// is not supported"},
	} {
		if out, _, err := program(t, c.args...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v, %s; want %q", c.args, err, out, c.want)
		}
	}
}
