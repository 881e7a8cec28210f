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

// A judge is HBase 2.6.4 that reads files as a region server does (HFileJudge verdicts).
// A damaged file can end its JVM, or leave it with memory that is not its own;
// then another takes its place.
type judge struct {
	*jvm
	classPath string
	dumps     string // of JVMs that crashed
	files     int
}

// judgeFiles is how many files one JVM judges.
const judgeFiles = 100

// newJudge returns a judge until the test ends.
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

// stop ends the JVM; how it ends is of no interest.
func (j *judge) stop() {
	_ = j.in.Close()
	_, _ = io.Copy(io.Discard, j.answers)
	_ = j.cmd.Wait()
}

// anew has another JVM answer.
func (j *judge) anew(t testing.TB, dir string, file []byte) string {
	t.Helper()
	j.stop()
	j.start(t)
	return j.verdict(t, dir, file)
}

// verdict returns what HBase does with a file: "reads …", "misreads …" or "refuses …".
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
		// this file ended the JVM, or one before it did
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
