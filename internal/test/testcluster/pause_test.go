package testcluster

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// echoEnv makes the test binary a process of many busy threads that echoes its input.
const echoEnv = "TESTCLUSTER_ECHO"

func echo() {
	for range 4 * runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			for {
				runtime.Gosched()
			}
		}()
	}
	io.Copy(os.Stdout, os.Stdin)
	os.Exit(0)
}

// A paused process answers nothing from then on, not even an immediate request.
func TestPaused(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), echoEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = answers
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers.Close()
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	ask := func() {
		t.Helper()
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(limit time.Duration) error {
		out.SetReadDeadline(time.Now().Add(limit))
		_, err := io.ReadFull(out, make([]byte, 1))
		return err
	}
	ask()
	if err := answer(time.Minute); err != nil {
		t.Fatal(err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := id.pause(); err != nil {
			t.Fatal(err)
		}
		ask()
		if err := answer(5 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a paused process answers: %v", err)
		}
		if err := id.signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := answer(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := id.pause(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("pausing a process that is gone: %v", err)
	}
}
