package streaming

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
)

// ErrNoID reports a client that succeeded but named no application, because it logs less than usual. The application
// can be found by its tag.
var ErrNoID = errors.New("the client of Hadoop did not say which application it submitted")

// SubmitError reports a client that failed. The application may have been submitted nevertheless.
type SubmitError struct {
	Command string // the program
	Err     error  // its exit error
	Tail    string // the end of its output
}

func (e *SubmitError) Error() string {
	if e.Tail == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %v; it said at the end:\n%s", e.Command, e.Err, e.Tail)
}

func (e *SubmitError) Unwrap() error { return e.Err }

// stopGrace is the time that the client has to exit after SIGTERM.
const stopGrace = 5 * time.Second

// Submit submits a job and returns the id of its application, without waiting for the job. It takes seconds for a JVM and
// the upload of Files. The id may be set even with an error, if the client had named it before it failed or ctx ended. In
// that case, and if the id is empty, only the ResourceManager knows whether the application runs.
//
// env is the environment of the client, nil for the process's environment. HADOOP_CONF_DIR, KRB5CCNAME and HADOOP_USER_NAME
// are the relevant variables.
func (c *Client) Submit(ctx context.Context, j Job, env []string) (application string, err error) {
	if len(j.Secrets) > 0 {
		f, err := secretFile(j.Secrets)
		if err != nil {
			return "", err
		}
		defer removeSecret(f)
		j.Properties = maps.Clone(j.Properties)
		if j.Properties == nil {
			j.Properties = map[string]string{}
		}
		j.Properties["mapreduce.job.credentials.binary"] = f.Name()
	}
	propertyFile := ""
	if len(j.Properties) > 0 {
		if propertyFile, err = writeProperties(j.Properties); err != nil {
			return "", err
		}
		defer os.Remove(propertyFile)
	}
	args, err := j.Args(propertyFile)
	if err != nil {
		return "", err
	}
	if env == nil {
		env = os.Environ()
	}
	cmd := exec.CommandContext(ctx, c.Command[0], append(slices.Clone(c.Command[1:]), args...)...)
	// Hadoop's scripts take the log level from this variable: below INFO the client names no application.
	cmd.Env = append(slices.Clone(env), "HADOOP_ROOT_LOGGER=INFO,console")
	said := &listener{}
	cmd.Stdout, cmd.Stderr = said, said
	// The process group allows the script and its JVM to be terminated together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	if err := cmd.Start(); err != nil {
		return "", &SubmitError{Command: c.Command[0], Err: err}
	}
	err = cmd.Wait()
	// Kill processes that ignore SIGTERM. The process group keeps its id until its last process has exited.
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		err = errors.Join(context.Cause(ctx), err)
	}
	application, tail := said.result()
	switch {
	case err != nil:
		return application, &SubmitError{Command: c.Command[0], Err: err, Tail: tail}
	case application == "":
		return "", &SubmitError{Command: c.Command[0], Err: ErrNoID, Tail: tail}
	}
	return application, nil
}

// writeProperties writes a configuration file that only the user can read.
func writeProperties(properties map[string]string) (path string, err error) {
	f, err := os.CreateTemp("", "bulkload-job-*.xml") // mode 0600
	if err != nil {
		return "", fmt.Errorf("the job's properties: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
			path, err = "", fmt.Errorf("the job's properties: %w", err)
		}
	}()
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		b.WriteString("  <property><name>")
		xml.EscapeText(&b, []byte(name))
		b.WriteString("</name><value>")
		xml.EscapeText(&b, []byte(properties[name]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	_, err = f.Write(b.Bytes())
	return f.Name(), err
}

// secretFile returns a file with secrets, which removeSecret removes.
func secretFile(secrets map[string][]byte) (*os.File, error) {
	f, err := createSecret()
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(hadooprpc.AppendSecrets(nil, secrets)); err != nil {
		return nil, errors.Join(err, removeSecret(f))
	}
	return f, nil
}

var submitted = regexp.MustCompile(`Submitted application (application_[0-9]{1,19}_[0-9]{1,10})\b`)

// maxTail limits the kept output of the client, maxLine the examined part of a line.
const (
	maxTail = 8 << 10
	maxLine = 4 << 10
)

// listener searches the client's output for the application's id, and keeps the end of the output.
type listener struct {
	mu   sync.Mutex
	line []byte
	tail []byte
	id   string
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if len(l.tail) > maxTail {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-maxTail:]...)
	}
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(len(part), room)]...)
		}
		if whole {
			l.look()
		}
		rest = after
	}
	return len(p), nil
}

func (l *listener) look() {
	if m := submitted.FindSubmatch(l.line); m != nil && l.id == "" {
		l.id = string(m[1])
	}
	l.line = l.line[:0]
}

func (l *listener) result() (id, tail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	tail = strings.ToValidUTF8(string(l.tail), "")
	if len(l.tail) == maxTail {
		_, tail, _ = strings.Cut(tail, "\n") // the first line is incomplete
	}
	return l.id, strings.TrimSpace(tail)
}
