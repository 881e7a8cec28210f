package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// root is the checkout.
const root = "../../.."

// javaDir holds the Java sources, compatDir the pom with a profile for each set of jars.
const (
	javaDir   = root + "/testdata/hfile/java"
	compatDir = root + "/testdata/hfile/compat"
)

// profileJars returns the directory of the jars of a profile of the pom. Maven downloads them if they are not in the
// user's cache.
func profileJars(ctx context.Context, profile string) (string, error) {
	pom := filepath.Join(compatDir, "pom.xml")
	text, err := os.ReadFile(pom)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "bulkload", "hfile-compat")
	dir := filepath.Join(parent, fmt.Sprintf("%s-%x", profile, sha256.Sum256(text))[:len(profile)+17])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(parent, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	var out []byte
	for range 3 {
		mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", pom, "-P"+profile, "dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory="+part)
		mvn.WaitDelay = 5 * time.Second
		if out, err = mvn.CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("fetch the jars of profile %s (is a Maven repository reachable?): %w\n%s", profile, err, out)
	}
	// Another process may have been faster; then its directory is used.
	if err := os.Rename(part, dir); err != nil {
		if _, gone := os.Stat(dir); gone != nil {
			return "", err
		}
	}
	return dir, nil
}

// compile puts the classes of the sources into dir.
func compile(ctx context.Context, dir, classPath string, sources ...string) error {
	args := append([]string{"-nowarn", "-XDsuppressNotes", "-encoding", "UTF-8", "-cp", classPath, "-d", dir}, sources...)
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
}

// A jvm runs commands in sequence, each with files for its standard input and output.
type jvm struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	stderr  bytes.Buffer
}

// openJVM runs a main class with its arguments; options of the JVM precede the usual ones. The caller ends it.
func openJVM(t testing.TB, classPath string, program, options []string) *jvm {
	t.Helper()
	args := slices.Concat(options, []string{"-Xmx1536m"}, testcluster.JudgeOptions(), []string{"-cp", classPath}, program)
	j := &jvm{cmd: exec.Command("java", args...)}
	j.cmd.Stderr = &j.stderr
	var err error
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.answers = bufio.NewReader(out)
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return j
}

// startJVM runs a main class until the test ends.
func startJVM(t testing.TB, classPath string, program ...string) *jvm {
	t.Helper()
	j := openJVM(t, classPath, program, nil)
	t.Cleanup(func() {
		// the program ends with its input
		j.in.Close()
		if err := j.cmd.Wait(); err != nil {
			t.Errorf("java: %v\n%s", err, j.stderr.String())
		}
	})
	return j
}

// run returns the output of a command and its status.
func (j *jvm) run(stdin, stdout string, words ...string) (output []byte, status int, err error) {
	if stdin == "" {
		stdin = "-"
	}
	line := strings.Join(append([]string{stdin, stdout}, words...), "\t")
	if _, err := io.WriteString(j.in, line+"\n"); err != nil {
		return nil, 0, fmt.Errorf("java: %w\n%s", err, j.stderr.String())
	}
	answer, err := j.answers.ReadString('\n')
	if err != nil {
		return nil, 0, fmt.Errorf("java ended: %w\n%s", err, j.stderr.String())
	}
	answer = strings.TrimSpace(answer)
	if _, err := fmt.Sscanf(answer, "ok %d", &status); err != nil {
		return nil, 0, fmt.Errorf("%s: %s", strings.Join(words, " "), answer)
	}
	output, err = os.ReadFile(stdout)
	return output, status, err
}

// startHBase starts HBase 2.6.4 with all its codecs until the test ends: HFileJudge, many commands in one JVM. zstdCodec is
// the class that HBase is configured to use for ZSTD.
func startHBase(t testing.TB, zstdCodec string) *jvm {
	t.Helper()
	classPath, err := testcluster.JudgeClassPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	codecs, err := profileJars(t.Context(), "codecs")
	if err != nil {
		t.Fatal(err)
	}
	classPath += ":" + filepath.Join(codecs, "*")
	classes := t.TempDir()
	if err := compile(t.Context(), classes, classPath, filepath.Join(javaDir, "ZstdFrames.java")); err != nil {
		t.Fatal(err)
	}
	// the codec's class is read from the configuration files only
	site := fmt.Sprintf("<configuration><property><name>hbase.io.compress.zstd.codec</name><value>%s</value></property></configuration>", zstdCodec)
	if err := os.WriteFile(filepath.Join(classes, "hbase-site.xml"), []byte(site), 0o644); err != nil {
		t.Fatal(err)
	}
	return startJVM(t, classes+":"+classPath, "HFileJudge", "batch")
}

// The classes that HBase can be configured to use for ZSTD.
const (
	zstdModule = "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec" // a block stream
	zstdFrames = "ZstdFrames"                                         // plain frames, as Hadoop's own with its native library
)
