package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/testcluster"
)

// root is the checkout.
const root = "../.."

// javaDir holds the Java sources, compatDir the pom with a profile for each set of jars.
const (
	javaDir   = root + "/testdata/hfile/java"
	compatDir = root + "/testdata/hfile/compat"
	oracleSrc = root + "/../shared/oracle/HFileOracle.java"
)

// errNoJava says that there is nothing to compare with on this machine.
var errNoJava = errors.New("no JDK, or no ../shared/oracle beside the checkout")

// profileJars is the directory of the jars of a profile of the pom, fetched by
// Maven when they are not in the user's cache.
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
	// Another process may have been faster; then its directory is as good.
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

// A jvm runs one command after the other, each with files for its standard
// input and output.
type jvm struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	stderr  bytes.Buffer
}

// javaCommand runs a main class; options of the JVM come before the usual ones.
func javaCommand(mainClass, classPath string, options ...string) *exec.Cmd {
	args := append(options, "-Xmx1536m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	for _, open := range []string{"java.nio", "java.lang", "sun.nio.ch"} {
		args = append(args, "--add-opens", "java.base/"+open+"=ALL-UNNAMED")
	}
	return exec.Command("java", append(args, "-cp", classPath, mainClass)...)
}

// openJVM runs the main class; the caller ends it.
func openJVM(t testing.TB, mainClass, classPath string, options ...string) *jvm {
	t.Helper()
	j := &jvm{cmd: javaCommand(mainClass, classPath, options...)}
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

// startJVM runs the main class until the test ends.
func startJVM(t testing.TB, mainClass, classPath string) *jvm {
	t.Helper()
	j := openJVM(t, mainClass, classPath)
	t.Cleanup(func() {
		// the program ends with its input
		j.in.Close()
		if err := j.cmd.Wait(); err != nil {
			t.Errorf("java: %v\n%s", err, j.stderr.String())
		}
	})
	return j
}

// run gives what the command printed and its status.
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
		return nil, 0, fmt.Errorf("oracle %s: %s", strings.Join(words, " "), answer)
	}
	output, err = os.ReadFile(stdout)
	return output, status, err
}

// An oracle is HBase 2.6.4: a JVM, and whether it has the codecs that the
// cluster's jars lack.
type oracle struct {
	*jvm
	codecs bool
}

// haveJava gives an error that wraps errNoJava where Java cannot be compiled and run.
func haveJava() error {
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w", errNoJava, err)
		}
	}
	return nil
}

// startOracle gives an error that wraps errNoJava where there is nothing to start.
// zstdCodec is the class that HBase is told to use for ZSTD.
func startOracle(t testing.TB, zstdCodec string) (*oracle, error) {
	t.Helper()
	ctx := t.Context()
	if _, err := os.Stat(oracleSrc); err != nil {
		return nil, errNoJava
	}
	if err := haveJava(); err != nil {
		return nil, err
	}
	lib, err := testcluster.Jars(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoJava, err)
	}
	o := &oracle{codecs: true}
	classPath := filepath.Join(lib, "*")
	if codecs, err := profileJars(ctx, "codecs"); err == nil {
		classPath += ":" + filepath.Join(codecs, "*")
	} else {
		t.Logf("LZ4 and ZSTD are not compared: %v", err)
		o.codecs = false
	}
	classes := t.TempDir()
	sources := []string{oracleSrc, filepath.Join(javaDir, "OracleBatch.java")}
	if o.codecs {
		sources = append(sources, filepath.Join(javaDir, "ZstdFrames.java"))
	}
	if err := compile(ctx, classes, classPath, sources...); err != nil {
		return nil, err
	}
	// the codec's class is read from the configuration files only
	site := fmt.Sprintf("<configuration><property><name>hbase.io.compress.zstd.codec</name><value>%s</value></property></configuration>", zstdCodec)
	if err := os.WriteFile(filepath.Join(classes, "hbase-site.xml"), []byte(site), 0o644); err != nil {
		return nil, err
	}
	o.jvm = startJVM(t, "OracleBatch", classes+":"+classPath)
	return o, nil
}

// The classes that HBase can be told to use for ZSTD.
const (
	zstdModule = "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec" // a block stream
	zstdFrames = "ZstdFrames"                                         // plain frames, as Hadoop's own with its native library
)
