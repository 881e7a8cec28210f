package testcluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// judgeClass is the main class of testdata/hfile/judge; the beginning of its source lists the commands.
const judgeClass = "HFileJudge"

// Judge runs a command of HFileJudge, in which HBase's own classes write, read and check HFiles on local disk, and returns
// its standard output. It needs no running cluster, and downloads missing jars. If a "check" finds errors, Judge returns an
// error in addition to the output, which lists them.
func Judge(ctx context.Context, args ...string) (string, error) {
	return JudgeInput(ctx, nil, args...)
}

// JudgeInput is [Judge] with standard input, from which "write" reads its cells.
func JudgeInput(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	java, err := tool("java")
	if err != nil {
		return "", err
	}
	classPath, err := JudgeClassPath(ctx)
	if err != nil {
		return "", err
	}
	spawner := newSpawner()
	defer spawner.close()
	lib, err := Jars(ctx)
	if err != nil {
		return "", err
	}
	argv := slices.Concat([]string{java, "-Xmx1g"}, JudgeOptions(), classData(lib), []string{"-cp", classPath, judgeClass})
	out, err := spawner.output(ctx, stdin, append(argv, args...), environment())
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", judgeClass, strings.Join(args, " "), err)
	}
	return out, nil
}

// JudgeOptions returns options for the JVM of HFileJudge: HBase needs access to internal packages of the JDK, and
// files are small.
func JudgeOptions() []string {
	options := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	for _, open := range []string{"java.nio", "java.lang", "sun.nio.ch"} {
		options = append(options, "--add-opens", "java.base/"+open+"=ALL-UNNAMED")
	}
	return options
}

// JudgeClassPath returns the class path of the compiled HFileJudge and the cluster's jars.
func JudgeClassPath(ctx context.Context) (string, error) {
	lib, err := Jars(ctx)
	if err != nil {
		return "", err
	}
	compiled, err := compile(ctx, "judge", lib, filepath.Join("..", "hfile", "judge"))
	if err != nil {
		return "", err
	}
	return classPath(jarPath(lib), compiled), nil
}
