package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/testcluster"
)

// A judge is HBase 2.6.4 that reads files as a region server does (HFileJudge).
type judge struct {
	in      io.Writer
	answers *bufio.Reader
	files   int
}

// judgeOrNone is nil where there is no HBase to ask.
func judgeOrNone(t testing.TB) *judge {
	t.Helper()
	if err := haveJava(); err != nil {
		t.Logf("not judged by HBase: %v", err)
		return nil
	}
	lib, err := testcluster.Jars(t.Context())
	if err != nil {
		t.Logf("not judged by HBase: %v", err)
		return nil
	}
	classes, classPath := t.TempDir(), filepath.Join(lib, "*")
	if err := compile(t.Context(), classes, classPath, filepath.Join(javaDir, "HFileJudge.java")); err != nil {
		t.Fatal(err)
	}
	j := startJVM(t, "HFileJudge", classes+":"+classPath)
	return &judge{in: j.in, answers: j.answers}
}

// verdict is what HBase does with a file: "reads …", "misreads …" or "refuses …".
func (j *judge) verdict(t testing.TB, dir string, file []byte) string {
	t.Helper()
	j.files++
	name := filepath.Join(dir, fmt.Sprintf("%032x", j.files))
	if err := errors.Join(os.WriteFile(name, file, 0o644)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	if _, err := io.WriteString(j.in, name+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := j.answers.ReadString('\n')
	if err != nil {
		t.Fatal("the judge ended: ", err)
	}
	return strings.TrimSuffix(answer, "\n")
}
