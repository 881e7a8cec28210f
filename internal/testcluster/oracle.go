package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoOracle says that the directory "shared", with the program that judges HFiles by HBase's own code,
// is not beside the checkout.
var ErrNoOracle = errors.New("no ../shared/oracle beside the checkout")

// Oracle runs ../shared/oracle/oracle and gives its standard output. No cluster need run; the jars are
// fetched when they are not there. Where the program is absent the error is [ErrNoOracle] and a test can
// leave out just the comparison.
func Oracle(ctx context.Context, args ...string) (string, error) {
	return OracleInput(ctx, nil, args...)
}

// OracleInput is [Oracle] with something on standard input, which "write" takes its cells from.
func OracleInput(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	src, err := sourceDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(src, "..", "..", "..", "shared", "oracle", "oracle")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%s: %w", program, ErrNoOracle)
	}
	java, err := tool("java")
	if err != nil {
		return "", err
	}
	lib, err := Jars(ctx)
	if err != nil {
		return "", err
	}
	// The program compiles itself where there are no classes; test processes that start together must not
	// do that over each other.
	compiled, err := compile(ctx, "oracle", lib, []string{filepath.Join(filepath.Dir(program), "HFileOracle.java")})
	if err != nil {
		return "", err
	}
	spawner := newSpawner()
	defer spawner.close()
	env := environment("HBASE_LIB="+lib, "ORACLE_CLASSES="+compiled,
		"PATH="+filepath.Dir(java)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	// By the shell: the file need not be executable where it was copied to.
	out, err := spawner.output(ctx, stdin, append([]string{"/bin/sh", program}, args...), env)
	if err != nil {
		return out, fmt.Errorf("oracle %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
