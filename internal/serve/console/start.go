package console

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/engine/checkpoint"
)

// StartedLog is the file in a job's directory with the log of the last command that the console has started.
const StartedLog = "started.log"

// start runs a recorded command again, in its own session, so that it outlives the console. If the command ends at once with an error,
// start returns the last line of its log.
func start(ctx context.Context, c *checkpoint.Command, dir string, patience time.Duration) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, StartedLog)
	log, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, c.Args...) // no context: it must outlive the request
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = c.Dir, environment(c.Env), log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return refuse("the command was not started: %s", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return refuse("the command ended with %s: %s", err, lastLine(name))
		}
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return nil
}

// environment returns this process's environment with the recorded variables. It leaves out this process's own
// settings, which are those of a service.
func environment(recorded map[string]string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if _, ok := recorded[name]; !ok && (!strings.HasPrefix(name, "BULKLOAD_") || strings.HasPrefix(name, "BULKLOAD_TEST_")) {
			env = append(env, v)
		}
	}
	for name, value := range recorded {
		env = append(env, name+"="+value)
	}
	return env
}

// lastLine returns the last line of a file, cut to the length of a message.
func lastLine(name string) string {
	const most = 400
	b, err := os.ReadFile(name)
	if err != nil {
		return "its log cannot be read"
	}
	b = bytes.TrimSpace(b)
	b = b[bytes.LastIndexByte(b, '\n')+1:]
	return strings.ToValidUTF8(string(b[:min(len(b), most)]), "")
}
