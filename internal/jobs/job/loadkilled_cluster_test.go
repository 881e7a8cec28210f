package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"
)

// builtDir returns a directory of HFiles for the table, on HDFS or local, built for the given number of salts.
func (p *program) builtDir(onHDFS bool, salts int) string {
	p.t.Helper()
	s := jobtest.Spec(p.t, "check")
	s.Inputs = []string{jobtest.Export(p.t, "check.csv")}
	return p.builtOf(s, onHDFS, salts)
}

// builtOf is builtDir for a given job.
func (p *program) builtOf(s spec.Spec, onHDFS bool, salts int) string {
	p.t.Helper()
	dir := p.t.TempDir()
	if onHDFS {
		dir = "hdfs:///tmp/hfiles-" + testcheck.Name(p.t)
		p.t.Cleanup(func() {
			if fsys, name, err := p.env.Resolve(dir); err == nil {
				_ = fsys.RemoveAll(context.WithoutCancel(p.t.Context()), name)
			}
		})
	}
	if _, err := build.Directory(p.t.Context(), p.env, jobtest.Resolve(p.t, s), jobtest.Family, partition.SaltSplits(salts), dir, build.WorkOptions{}); err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// load runs the command load, like [program.run].
func (p *program) load(stopAfter, dir string, flags ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := p.command(ctx, stopAfter)
	cmd.Args = append([]string{p.path, "load", "--quiet", "--output=json", "--table=" + p.table, "--state=" + p.state, dir}, flags...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		p.t.Fatalf("no end within three minutes: %s", errs.String())
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if code = e.ExitCode(); code < 0 {
			code = 128 + 9
		}
		err = nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return code, out.String(), errs.String()
}

// emptied checks that a directory on HDFS has no files but its manifest and the notes of a merge.
func (p *program) emptied(dir string) {
	p.t.Helper()
	fsys, name, err := p.env.Resolve(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, left := range jobtest.TreeFiles(p.t, fsys, name) {
		if path.Base(left) != manifest.FileName && path.Base(path.Dir(left)) != build.MergeDir {
			p.t.Errorf("left behind: %s", left)
		}
	}
	if list, err := fsys.ReadDir(p.t.Context(), name); err != nil || slices.ContainsFunc(list, isLoading) {
		p.t.Errorf("left behind: %v, %v", list, err)
	}
}

func isLoading(e os.FileInfo) bool { return strings.HasPrefix(e.Name(), build.LoadingPrefix) }

// TestKilledLoadIsResumed kills the load of a directory just after each kind of record, and runs the same command again: from a local disk, from HDFS
// with a file that is in two regions, and with more files than a region may get; with a manifest and without.
func TestKilledLoadIsResumed(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for _, c := range []struct {
		name     string
		onHDFS   bool
		manifest bool
		split    bool // split a region before the load
		regions  int
		flags    []string
		files    int // expected files in the store
		after    []string
	}{
		{"local", false, true, false, programRegions, nil, programRegions, []string{"plan", "loading", "sending", "loaded:1", "loaded:3", "cleaned", "verified", "done"}},
		{"HDFS", true, true, true, programRegions, nil, programRegions + 1, []string{"plan", "attempt", "loading", "prepared", "cut", "sending", "loaded:1", "loaded:3", "cleaned", "verified", "done"}},
		{"merged", true, false, false, 2, []string{"--max-files=2"}, 2, []string{"merged", "sending", "cleaned", "done"}},
		{"local without a manifest", false, false, false, programRegions, nil, programRegions, []string{"loaded:3", "done"}},
	} {
		for _, after := range c.after {
			t.Run(c.name+"/"+after, func(t *testing.T) {
				t.Parallel()
				p := newProgramAt(t, name, partition.SaltSplits(c.regions))
				dir := p.builtDir(c.onHDFS, programRegions)
				if !c.manifest {
					fsys, at, err := p.env.Resolve(dir)
					if err == nil {
						err = fsys.Remove(t.Context(), path.Join(at, manifest.FileName))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if c.split {
					p.admin(t, "split", "38")
				}
				if code, _, stderr := p.load(after, dir, c.flags...); code != 128+9 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				code, stdout, stderr := p.load("", dir, c.flags...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				r := result.Result{}
				if err := json.Unmarshal([]byte(stdout), &r); err != nil {
					t.Fatalf("%v: %s", err, stdout)
				}
				if r.Already != (after == "done") {
					t.Errorf("done already: %v", r.Already)
				}
				p.judge(c.files)
				if c.onHDFS {
					p.emptied(dir)
				}
				if code, _, stderr := p.load("", dir, append(c.flags, "--skip-exit-code")...); code != 99 {
					t.Errorf("a third time: exit code %d: %s", code, stderr)
				}
				p.judge(c.files)
			})
		}
	}
}

// TestKilledLoadAndSplit kills a load from HDFS several times, splits a region each time, and adds the leftovers of a process that was killed while
// it cut a file. Every row must be in the table, and nothing in the directory.
func TestKilledLoadAndSplit(t *testing.T) {
	t.Parallel()
	p := newProgramAt(t, buildProgram(t), partition.SaltSplits(10))
	dir := p.builtDir(true, 10)
	fsys, at, err := p.env.Resolve(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, after := range []string{"loading", "sending", "cut", "loaded:1", "loaded:2"} {
		p.admin(t, "split", fmt.Sprintf("%d8", i+1))
		if code, _, stderr := p.load(after, dir); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		list, err := fsys.ReadDir(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(list, isLoading); i >= 0 {
			half := path.Join(at, list[i].Name(), build.WritingDir)
			if err := fsys.MkdirAll(t.Context(), half, 0o777); err != nil {
				t.Fatal(err)
			}
			w, err := fsys.Create(t.Context(), path.Join(half, "half-1"), hdfsio.CreateOptions{})
			if err == nil {
				err = w.Finish()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if code, _, stderr := p.load("", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.emptied(dir)
	got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table)
	if want := jobtest.DigestLine(t, "check", "skip"); err != nil || got != want {
		t.Errorf("the table has %s %v, want %s", got, err, want)
	}
}

// TestLoadsAgain checks that files added to a directory after its load are loaded, that files added during it are refused by name, and that an
// emptied table is not reported as loaded.
func TestLoadsAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	dir := p.builtDir(true, programRegions)
	fsys, at, err := p.env.Resolve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Remove(t.Context(), path.Join(at, manifest.FileName)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.load("loaded:1", dir); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	more := path.Join(at, "f", strings.Repeat("a", 32))
	cells := jobtest.SomeCells(7)
	jobtest.WriteCells(t, fsys, more, cells, hfile.Options{})
	if code, _, stderr := p.load("", dir); code != 5 || !strings.Contains(stderr, path.Base(more)) {
		t.Errorf("a file that came meanwhile: exit code %d: %s", code, stderr)
	}
	if err := fsys.Rename(t.Context(), more, path.Join(at, "aside")); err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll(t.Context(), path.Join(at, ".aside"), 0o755); err != nil {
		t.Fatal(err)
	}
	aside := path.Join(at, ".aside", path.Base(more))
	if err := fsys.Rename(t.Context(), path.Join(at, "aside"), aside); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.load("", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := fsys.Rename(t.Context(), aside, more); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := p.load("", dir, "--skip-exit-code"); code != 0 {
		t.Fatalf("new files: exit code %d: %s %s", code, stdout, stderr)
	}
	if got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table); err != nil || !strings.HasPrefix(got, "rows=3007 ") {
		t.Errorf("the table has %s, %v", got, err)
	}
	p.admin(t, "truncate")
	if code, _, stderr := p.load("", dir); code == 0 || !strings.Contains(stderr, "recreated") {
		t.Errorf("a table that was emptied: exit code %d: %s", code, stderr)
	}
}
