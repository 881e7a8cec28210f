package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say what is made from what sources.
type Options struct {
	Root      string    // the checkout
	Out       string    // where archives and SHA256SUMS go; what is there of them is replaced
	Version   string    // such as 0.3.0
	Platforms []string  // such as linux/amd64
	Date      time.Time // of all files; zero: the commit's time
}

// archived are the files of the repository that an archive has, as git's
// patterns. The exports are for a first try without data of one's own.
var archived = []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE*", "NOTICE*", "docs", "examples",
	"testdata/exports/README.md", "testdata/exports/check.*"}

// Make builds the program for every platform and writes the archives. It gives
// their names.
func Make(ctx context.Context, o Options) ([]string, error) {
	if o.Version == "" || strings.ContainsAny(o.Version, "/ \n") {
		return nil, fmt.Errorf("version %q cannot be in a file's name", o.Version)
	}
	if o.Date.IsZero() {
		text, err := output(ctx, o.Root, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("time of the commit: %w", err)
		}
		o.Date = time.Unix(seconds, 0)
	}
	tmp, err := os.MkdirTemp("", "bulkload-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	common, err := commonFiles(ctx, o, tmp)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, err
	}
	var names []string
	var sums strings.Builder
	for _, platform := range o.Platforms {
		program, err := build(ctx, o, platform, filepath.Join(tmp, "bulkload"))
		if err != nil {
			return nil, err
		}
		modules, err := Modules(program.Data, o.Version)
		if err != nil {
			return nil, err
		}
		dir := "bulkload-" + o.Version + "-" + strings.ReplaceAll(platform, "/", "-")
		files := append(slices.Clone(common), program, File{Name: "sbom.cdx.json", Data: modules})
		archive, err := Archive(dir, files, o.Date)
		if err != nil {
			return nil, err
		}
		name := dir + ".tar.gz"
		if err := os.WriteFile(filepath.Join(o.Out, name), archive, 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
		sums.WriteString(sumLine(name, archive))
	}
	return names, os.WriteFile(filepath.Join(o.Out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// compiling is the environment of the compiler. What has all of it and -trimpath is compiled once, wherever the checkout is.
var compiling = []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1"}

// build compiles the program for a platform, as a static binary.
func build(ctx context.Context, o Options, platform, out string) (File, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return File{}, fmt.Errorf("platform %q is not like linux/amd64", platform)
	}
	env := append([]string{"GOOS=" + goos, "GOARCH=" + goarch}, compiling...)
	flags := "-s -w -X main.version=" + o.Version
	if _, err := output(ctx, o.Root, env, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags", flags, "-o", out, "./cmd/bulkload"); err != nil {
		return File{}, err
	}
	f, err := readFile(out, "bulkload")
	f.Executable = true
	return f, err
}

// commonFiles are those of every platform: the repository's, completions and man pages.
func commonFiles(ctx context.Context, o Options, tmp string) ([]File, error) {
	list, err := output(ctx, o.Root, nil, "git", append([]string{"ls-files", "-z", "--"}, archived...)...)
	if err != nil {
		return nil, err
	}
	var files []File
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		f, err := readFile(filepath.Join(o.Root, name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	here := filepath.Join(tmp, "bulkload-here")
	if _, err := build(ctx, o, runtime.GOOS+"/"+runtime.GOARCH, here); err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "bulkload.bash", "zsh": "_bulkload", "fish": "bulkload.fish"} {
		text, err := output(ctx, o.Root, nil, here, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: "completions/" + name, Data: []byte(text)})
	}
	man := filepath.Join(tmp, "man")
	if err := os.Mkdir(man, 0o755); err != nil {
		return nil, err
	}
	if _, err := output(ctx, o.Root, compiling, "go", "test", "-count=1", "-trimpath", "-vet=off", "-run", "^TestManPages$", "./cmd/bulkload",
		"-man", man, "-man-version", o.Version, "-man-date", o.Date.UTC().Format(time.RFC3339)); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		f, err := readFile(page, "man/man1/"+filepath.Base(page))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// output runs a command in a directory and gives what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s %s: %w: %s%s", filepath.Base(name), strings.Join(args, " "), err, e.Stderr, out)
	}
	return string(out), err
}
