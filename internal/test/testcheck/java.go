package testcheck

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// javaLimit is the time limit of a Java program.
const javaLimit = 5 * time.Minute

// Java runs the command java with the given stdin, which may be nil, and returns its standard output. If the command
// fails, the test ends.
func Java(t testing.TB, stdin io.Reader, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), javaLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", args...)
	cmd.Stdin = stdin
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("java: %v\n%s%s", err, out, &said)
	}
	return out
}
