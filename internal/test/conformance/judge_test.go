package conformance

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// A judge is HBase 2.6.4, which reads files like a region server (HFileJudge verdicts). A damaged file can end its
// JVM, or corrupt the JVM's memory; then another JVM replaces it.
type judge struct {
	*jvm
	classPath string
	dumps     string // of JVMs that crashed
	files     int
}

// judgeFiles is the number of files that one JVM judges.
const judgeFiles = 100

// newJudge returns a judge that lasts until the test ends.
func newJudge(t testing.TB) *judge {
	t.Helper()
	classPath, err := testcluster.JudgeClassPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{classPath: classPath, dumps: t.TempDir()}
	j.start(t)
	t.Cleanup(j.stop)
	return j
}

func (j *judge) start(t testing.TB) {
	t.Helper()
	j.jvm = openJVM(t, j.classPath, []string{"HFileJudge", "verdicts"},
		[]string{"-XX:ErrorFile=" + filepath.Join(j.dumps, "crash%p.log"), "-XX:-CreateCoredumpOnCrash"})
}

// stop ends the JVM; its exit status does not matter.
func (j *judge) stop() {
	_ = j.in.Close()
	_, _ = io.Copy(io.Discard, j.answers)
	_ = j.cmd.Wait()
}

// anew returns the verdict of a new JVM.
func (j *judge) anew(t testing.TB, dir string, file []byte) string {
	t.Helper()
	j.stop()
	j.start(t)
	return j.verdict(t, dir, file)
}

// verdict returns HBase's result for a file: "reads …", "misreads …" or "refuses …".
func (j *judge) verdict(t testing.TB, dir string, file []byte) string {
	t.Helper()
	if j.files++; j.files%judgeFiles == 0 {
		j.stop()
		j.start(t)
	}
	name := filepath.Join(dir, fmt.Sprintf("%032x", j.files))
	if err := os.WriteFile(name, file, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	for range 2 {
		_, err := io.WriteString(j.in, name+"\n")
		if err == nil {
			var answer string
			if answer, err = j.answers.ReadString('\n'); err == nil && isVerdict(answer) {
				return strings.TrimSuffix(answer, "\n")
			}
		}
		// this file, or one before it, ended the JVM
		j.stop()
		j.start(t)
	}
	return "refuses\tthe JVM ends"
}

func isVerdict(answer string) bool {
	for _, word := range []string{"reads\t", "misreads\t", "refuses\t"} {
		if strings.HasPrefix(answer, word) {
			return true
		}
	}
	return false
}
