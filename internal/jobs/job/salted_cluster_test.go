package job

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestSalted masks a column with a secret, in a job that is killed and resumed. HBase's own client reads the values as masked in Go; another secret,
// and none, are refused; and the secret is in nothing that the program prints or stores.
func TestSalted(t *testing.T) {
	t.Parallel()
	const secret = "4f1b2d5fd3b7a05e9c6a"
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records, dir := clusterRecords(300), t.TempDir()
	p := &program{t: t, path: buildProgram(t), cluster: cluster, env: env, table: jobtest.FreshTableAt(t, env, points("1", "2", "3"), nil), state: t.TempDir(), input: filepath.Join(dir, "rows.dump")}
	jobtest.WriteRecords(t, p.input, records)
	file, salt, report := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "salt"), filepath.Join(dir, "report.html")
	testcheck.Must(t, os.WriteFile(file, []byte("key: id\nformat: dump\ncolumns: ["+strings.Join(jobtest.MappedColumns, ", ")+"]\nempty: store\nsalt_file: "+salt+
		"\ncells: [{expr: sha256hex(salted(text)), qualifier: m}]\n"), 0o600))
	use := func(text string) { testcheck.Must(t, os.WriteFile(salt, []byte(text), 0o600)) }
	flags := []string{"--job=" + file, "--timestamp=1700000000000", "--log-level=debug", "--report=" + report, "--openlineage=" + filepath.Join(dir, "events.jsonl"), "--metrics-file=" + filepath.Join(dir, "run.prom")}
	hidden := func(out ...string) {
		t.Helper()
		if strings.Contains(strings.Join(out, ""), secret) {
			t.Error("the program prints the secret")
		}
	}
	for _, after := range []string{"plan", "sorted", "written:2", "loading"} {
		use(secret + "\n")
		code, stdout, stderr := p.run(after, flags...)
		if hidden(stdout, stderr); code != 128+9 {
			t.Fatalf("%s: exit code %d: %s", after, code, stderr)
		}
		use("another " + secret)
		if code, stdout, stderr = p.run("", flags...); code != fail.Check.ExitCode() || !strings.Contains(stderr, "salt_digest was ") {
			t.Errorf("another secret after %s: exit code %d: %s", after, code, stderr)
		}
		hidden(stdout, stderr)
	}
	testcheck.Must(t, os.Remove(salt))
	if code, _, stderr := p.run("", flags...); code != fail.Config.ExitCode() || !strings.Contains(stderr, "salt_file") {
		t.Errorf("no secret: exit code %d: %s", code, stderr)
	}
	use(secret)
	code, stdout, stderr := p.run("", flags...)
	if hidden(stdout, stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var masked [][]string
	for _, r := range records {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(r[4]))
		masked = append(masked, []string{r[0], fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%x", mac.Sum(nil))))})
	}
	plain := spec.Spec{Key: "id", Timestamp: 1700000000000, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "m"}}}}
	got, err := cluster.AdminT(t).Run(t.Context(), "digest", p.table)
	if want := jobtest.ClientDigest(jobtest.PlainCells(t, plain, []string{"id", "m"}, masked)); err != nil || got != want {
		t.Errorf("the table has %s, want %s, %v", got, want, err)
	}
	kept := 0
	for _, root := range []string{p.state, dir} {
		testcheck.Must(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || name == salt {
				return err
			}
			b, err := os.ReadFile(name)
			if hidden(string(b)); strings.Contains(string(b), "salt_digest") {
				kept++
			}
			return err
		}))
	}
	if kept == 0 {
		t.Error("no journal has the digest")
	}
}
