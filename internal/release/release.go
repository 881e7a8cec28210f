package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configures the files of a release and their sources.
type Options struct {
	Root      string    // the checkout
	Out       string    // the directory of the release; existing files are replaced
	Version   string    // such as 0.3.0
	Platforms []string  // such as linux/amd64
	Date      time.Time // the time of all files; zero: the commit's time
}

type maker struct {
	Options
	tmp     string
	licence string   // the program's licence, an SPDX expression
	common  []File   // the files of every platform
	legal   []File   // licences of the modules in the program, and the bill of materials
	names   []string // of the files of the release, in the order of creation
	sums    []byte   // SHA256SUMS
}

// Make makes a release and returns the names of its files, SHA256SUMS last. It makes packages and images only for platforms with linux.
func Make(ctx context.Context, o Options) ([]string, error) {
	if o.Version == "" || strings.ContainsAny(o.Version, "/ \n") {
		return nil, fmt.Errorf("version %q cannot be in a file's name", o.Version)
	}
	tmp, err := os.MkdirTemp("", "bulkload-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	m := &maker{Options: o, tmp: tmp}
	if m.Date.IsZero() {
		if m.Date, err = commitTime(ctx, o.Root); err != nil {
			return nil, err
		}
	}
	m.Date = m.Date.UTC().Truncate(time.Second)
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, err
	}
	if err := m.all(ctx); err != nil {
		return nil, err
	}
	return append(m.names, "SHA256SUMS"), os.WriteFile(filepath.Join(o.Out, "SHA256SUMS"), m.sums, 0o644)
}

func commitTime(ctx context.Context, root string) (time.Time, error) {
	text, err := output(ctx, root, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the commit: %w", err)
	}
	return time.Unix(seconds, 0), nil
}

// all makes every file of the release except SHA256SUMS.
func (m *maker) all(ctx context.Context) error {
	notes, err := m.notes()
	if err != nil {
		return err
	}
	if err := m.write("CHANGES-"+m.Version+".md", notes); err != nil {
		return err
	}
	if m.common, err = commonFiles(ctx, m.Options, m.tmp); err != nil {
		return err
	}
	if err := m.chart(); err != nil {
		return err
	}
	for i, platform := range m.Platforms {
		program, err := m.build(ctx, platform, filepath.Join(m.tmp, "bulkload"))
		if err != nil {
			return err
		}
		if i == 0 { // all platforms have the same modules
			if err := m.materials(ctx, program.Data); err != nil {
				return err
			}
		}
		if err := m.platform(platform, program); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := m.platformWheel(ctx, platform, program); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return m.pureWheels(ctx)
}

// materials writes the bill of materials of the modules in the program, and keeps it and their licences for the archives.
func (m *maker) materials(ctx context.Context, program []byte) error {
	modules, err := modulesOf(ctx, m.Root, program)
	if err != nil {
		return err
	}
	notices, err := noticesOf(modules)
	if err != nil {
		return err
	}
	if m.licence, err = ownLicence(m.Root); err != nil {
		return err
	}
	bill, err := billOf(modules, m.Version, m.licence, m.Date)
	if err != nil {
		return err
	}
	m.legal = []File{{Name: "THIRD-PARTY-NOTICES", Data: notices}, {Name: "sbom.spdx.json", Data: bill}}
	return m.write("bulkload-"+m.Version+".spdx.json", bill)
}

func (m *maker) platform(platform string, program File) error {
	goos, arch, _ := strings.Cut(platform, "/")
	files := slices.Concat(m.common, m.legal, []File{program})
	dir := "bulkload-" + m.Version + "-" + goos + "-" + arch
	archive, err := Archive(dir, files, m.Date)
	if err != nil {
		return err
	}
	if err := m.write(dir+".tar.gz", archive); err != nil || goos != "linux" {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		name, data, err := m.pack(kind, arch, files)
		if err != nil {
			return err
		}
		if err := m.write(name, data); err != nil {
			return err
		}
	}
	image, err := m.image(arch, program)
	if err != nil {
		return err
	}
	return m.write(dir+".oci.tar", image)
}

func (m *maker) write(name string, data []byte) error {
	m.names, m.sums = append(m.names, name), fmt.Appendf(m.sums, "%x  %s\n", sha256.Sum256(data), name) // as sha256sum prints them
	return os.WriteFile(filepath.Join(m.Out, name), data, 0o644)
}

// compiling is the environment of the compiler. With it and -trimpath, builds share compiled packages, wherever the checkout is.
var compiling = []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1"}

// build compiles the program for a platform, as a static binary.
func (o Options) build(ctx context.Context, platform, out string) (File, error) {
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

// output runs a command in a directory and returns what it prints.
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
