package bench

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoBaseline means that no release before this commit is known.
var ErrNoBaseline = errors.New("no tag v… is in the history of this commit, and none was named (--baseline REF)")

// baseline is the program of the previous release, in the form that a tool needs.
type baseline struct {
	name     string // as requested, or the tag
	program  string
	examples string // directory of its own job files
	note     string // describes the commit
}

// releaseBefore builds, once, the program of Config.Baseline, or else of the newest release tag before this commit. Its
// source is the tree of that commit, in the Lab's directory until Close.
func (l *Lab) releaseBefore(ctx context.Context) (*baseline, error) {
	if l.before != nil {
		return l.before, nil
	}
	ref, commit, err := l.baselineCommit(ctx)
	if err != nil {
		return nil, err
	}
	dir := l.path("baseline")
	if err := os.RemoveAll(dir); err != nil { // files of a killed run
		return nil, err
	}
	l.Log.Info("building the release before", "ref", ref, "commit", commit[:12])
	source := filepath.Join(dir, "source")
	if err := l.extract(ctx, commit, source); err != nil {
		return nil, errors.Join(fmt.Errorf("tree of %s: %w", ref, err), os.RemoveAll(dir))
	}
	b := &baseline{name: ref, program: filepath.Join(dir, "bulkload"), examples: filepath.Join(source, "examples"),
		note: fmt.Sprintf("%s is commit %s.", ref, commit[:12])}
	// Without a repository's stamp: the enclosing repository is that of today's program.
	build := command{argv: []string{"go", "build", "-trimpath", "-buildvcs=false", "-o", b.program, "./cmd/bulkload"}, dir: source, env: append(os.Environ(), "GOWORK=off")}
	if _, _, err := build.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("build %s: %w", ref, err), os.RemoveAll(dir))
	}
	l.before = b
	return b, nil
}

// baselineCommit returns the commit to compare with. A release is not compared with itself: if the tag belongs to the
// commit that is checked out, without changes, it returns the previous tag.
func (l *Lab) baselineCommit(ctx context.Context) (ref, commit string, err error) {
	if ref = l.Baseline; ref != "" {
		if commit, err = l.git(ctx, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}"); err != nil {
			return "", "", fmt.Errorf("baseline %q is not a tag or commit of this checkout: %w", ref, err)
		}
		return ref, commit, nil
	}
	head, err := l.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNoBaseline, err)
	}
	changes, err := l.git(ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", "", err
	}
	for from := "HEAD"; ; from = "HEAD^" {
		if ref, err = l.git(ctx, "describe", "--tags", "--abbrev=0", "--match=v[0-9]*", from); err != nil {
			return "", "", ErrNoBaseline
		}
		if commit, err = l.git(ctx, "rev-parse", "--verify", ref+"^{commit}"); err != nil {
			return "", "", err
		}
		if commit != head || changes != "" {
			return ref, commit, nil
		}
	}
}

// git runs git in the checkout, read-only.
func (l *Lab) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", l.Root}, args...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// extract writes the files of a commit into a new directory.
func (l *Lab) extract(ctx context.Context, commit, dir string) (err error) {
	archive := dir + ".tar"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(archive)) }()
	if _, err := l.git(ctx, "archive", "--format=tar", "--output="+archive, commit); err != nil {
		return err
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case h.Typeflag == tar.TypeDir:
			err = root.MkdirAll(strings.TrimSuffix(h.Name, "/"), 0o755)
		case h.Typeflag == tar.TypeReg:
			err = writeInto(root, h.Name, r)
		} // links are left out: the program has none
		if err != nil {
			return err
		}
	}
}

func writeInto(root *os.Root, name string, r io.Reader) error {
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
