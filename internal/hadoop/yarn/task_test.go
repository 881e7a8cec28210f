package yarn_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/pipeline/chunk"
)

// TestMain lets the test binary act as the program of tasks.
func TestMain(m *testing.M) {
	if os.Getenv("BULKLOAD_TEST_TASK") != "" {
		if err := runTask(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// buildTask builds the program, statically linked as nodes require.
func buildTask(t *testing.T, path string) error {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func runTask(what string) error {
	task, err := streaming.TaskFrom(os.LookupEnv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(streaming.JobFile); err != nil {
		return err
	}
	if task.Map != (what != "reduce") || task.User == "" || len(task.LocalDirs) == 0 {
		return fmt.Errorf("%s in %+v", what, task)
	}
	if _, err := os.Stat(task.TokenFile); err != nil {
		return err
	}
	switch what {
	case "map":
		return mapLines()
	case "reduce":
		return reduce(task)
	case "fail":
		return errors.New("items: byte 77: no such column")
	case "wait":
		for range time.Tick(time.Second) {
			if err := streaming.Status(os.Stderr, "waiting for the end"); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("no task %q", what)
}

func mapLines() error {
	w := chunk.NewFrameWriter(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		for _, key := range []string{"z", "a"} {
			if err := w.Chunk([]byte(key), lines.Bytes()); err != nil {
				return err
			}
		}
		if err := streaming.Count(os.Stderr, "test", "rows", 2); err != nil {
			return err
		}
	}
	return lines.Err()
}

// reduce passes its input to Hadoop's shell, which writes it to the attempt's directory.
func reduce(task streaming.Task) error {
	var out strings.Builder
	for r := chunk.NewFrameReader(bufio.NewReader(os.Stdin), "the reduce's input"); ; {
		key, value, err := r.Next(nil, nil)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %s\n", key, value)
	}
	dir := task.Output + "/sub"
	for _, args := range [][]string{{"-mkdir", "-p", dir}, {"-put", "-", fmt.Sprintf("%s/part-%d", dir, task.Number)}} {
		cmd := exec.Command(os.Getenv("TEST_HADOOP"), append([]string{"org.apache.hadoop.fs.FsShell"}, args...)...)
		cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+task.User) // the process is the NodeManager's user
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(out.String()), os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}
