package rekey_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// shared is a job whose files are built by several processes.
type shared struct {
	*world
	to   []string // flags of the job
	plan string
	rows string // directory of the shares
}

func (w *world) shared(to ...string) *shared {
	dir := w.t.TempDir()
	return &shared{w, to, filepath.Join(dir, "plan"), filepath.Join(dir, "rows")}
}

// ends runs a command, and checks its exit code and a part of its output.
func (s *shared) ends(code int, says string, o outcome) {
	s.t.Helper()
	if o.code != code || !strings.Contains(o.stderr, says) {
		s.t.Fatalf("exit code %d, want %d and %q\n%s", o.code, code, says, o.stderr)
	}
}

func (s *shared) planned() outcome {
	s.t.Helper()
	return s.rekey("", 0, append(s.to, "--plan", "--out="+s.plan)...)
}

func (s *shared) share(of string) outcome {
	s.t.Helper()
	return s.program("", 0, "build", "--plan="+s.plan, "--share="+of, "--out="+s.rows, "--workers=1", "--memory=64MiB", "--spill-dir="+s.spill)
}

func (s *shared) merge(of string, flags ...string) outcome {
	s.t.Helper()
	return s.program("", 0, append([]string{"merge", "--plan=" + s.plan, "--shares=" + s.rows, "--share=" + of, "--workers=2", "--memory=128MiB"}, flags...)...)
}

// oneProcess builds the plan's files in one process, and returns their bytes by name, and the manifest.
func (s *shared) oneProcess() (map[string]string, *manifest.Manifest, *share.Plan) {
	s.t.Helper()
	p, err := share.Read(s.t.Context(), s.env, s.plan)
	testcheck.Must(s.t, err)
	src, err := tablesource.Open(s.t.Context(), s.env, tablesource.Ref{Snapshot: p.Snapshots[0].Name}, tablesource.Options{})
	testcheck.Must(s.t, err)
	testcheck.Must(s.t, p.Mount(s.t.Context(), s.env))
	_, plans, err := p.Resolve(s.t.Context())
	testcheck.Must(s.t, err)
	key, err := keygen.Parse(p.NewKeys.Key)
	testcheck.Must(s.t, err)
	ranges, err := partition.New(plans[0].Ranges.Splits())
	testcheck.Must(s.t, err)
	dir := s.t.TempDir()
	one := &newkeys.Plan{Table: p.Job.Table, Key: key, Families: p.Families, Ranges: ranges, Now: time.UnixMilli(p.Timestamp), Duplicates: plans[0].Duplicates}
	m, err := newkeys.Build(s.t.Context(), src.Snapshot, one, build.Output{FS: hdfsio.Local{}, Dir: dir}, newkeys.Options{Options: build.Options{Workers: 2, Memory: 256 << 20, SpillDir: s.spill}}, nil)
	testcheck.Must(s.t, err)
	files := map[string]string{}
	for _, f := range m.Files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		testcheck.Must(s.t, err)
		files[f.Name] = string(b)
	}
	return files, m, p
}

// sameFiles compares the files written by merges with those that one process builds from the same snapshot.
func (s *shared) sameFiles() {
	s.t.Helper()
	want, one, p := s.oneProcess()
	fsys, dir, err := s.env.Resolve(p.NewKeys.Staging)
	testcheck.Must(s.t, err)
	m, err := share.MergedFiles(s.t.Context(), fsys, dir, p.Checksum)
	testcheck.Must(s.t, err)
	if len(m.Files) != len(want) || len(want) < 2 {
		s.t.Errorf("%d files, one process builds %d", len(m.Files), len(want))
	}
	for _, f := range m.Files {
		if string(jobtest.ReadWhole(s.t, fsys, path.Join(dir, f.Name))) != want[f.Name] {
			s.t.Errorf("%s is not what one process builds", f.Name)
		}
	}
	if m.RowSum != one.RowSum || m.Digest != one.Digest || m.Records != one.Records || m.Duplicates != one.Duplicates || fmt.Sprint(*m.Times) != fmt.Sprint(*one.Times) || !m.Stamped || m.Key != one.Key {
		s.t.Errorf("%+v\nwant\n%+v", m, one)
	}
}

// TestRekeyByShares checks that three shares, one of them killed, and two merges make the same files as one process, byte for byte. The job loads and
// verifies them, also if it is killed, and the result is checked with HBase's own client. Missing files are named.
func TestRekeyByShares(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	w := newRekeying(t)
	s := w.shared(w.to...)
	s.ends(137, "", s.rekey(string(history.EventPlan), 0, append(s.to, "--plan", "--out="+s.plan)...))
	s.ends(0, "", s.planned())
	s.ends(0, "", s.planned()) // the plan is kept
	s.ends(5, "build the shares, merge, and run the command again", s.rekey("", 0, s.to...))
	s.ends(3, "requested now: first", s.rekey("", 0, append(s.to, "--duplicates=first")...))
	s.ends(0, "", s.share("1/3"))
	s.killed("2/3")
	s.ends(0, "", s.share("3/3"))
	s.ends(5, "1 of 3 shares is missing", s.merge("1/2"))
	s.ends(0, "", s.share("2/3"))
	s.ends(2, "name no other directory", s.merge("1/2", "--out="+t.TempDir()))
	s.ends(0, "", s.merge("2/2"))
	s.ends(5, "build the shares, merge, and run the command again", s.rekey("", 0, s.to...))
	s.ends(0, "", s.merge("1/2"))
	s.sameFiles()
	for _, event := range []history.Event{history.EventBuilt, history.EventLoading, history.EventLoaded} {
		s.ends(137, "", s.rekey(string(event), 0, s.to...))
	}
	last := s.rekey("", 0, s.to...)
	s.ends(0, "", last)
	if r := last.result(t); r.Manifest.Records != int64(w.rows) || r.Rekey.Next == 0 {
		t.Errorf("%+v, %d rows", r, w.rows)
	}
	w.judge(w.expected)
	w.nothingLeft()
	s.ends(99, "", s.rekey("", 0, append(s.to, "--skip-exit-code")...))
}

// killed kills a share while it writes its rows.
func (s *shared) killed(of string) {
	s.t.Helper()
	cmd := s.command(s.t.Context(), "", "build", "--plan="+s.plan, "--share="+of, "--out="+s.rows, "--workers=1", "--memory=64MiB", "--spill-dir="+s.spill)
	testcheck.Must(s.t, cmd.Start())
	testcheck.Eventually(s.t, time.Minute, "the share has begun to write", func() (bool, any) {
		found, err := filepath.Glob(filepath.Join(s.rows, "share-0000"+of[:1]+"-*"))
		return err == nil && len(found) > 0, found
	})
	_ = cmd.Process.Kill()
	err := cmd.Wait()
	described, globErr := filepath.Glob(filepath.Join(s.rows, "share-0000"+of[:1]+"-*.json"))
	testcheck.Must(s.t, globErr)
	s.t.Logf("share %s: %v, descriptions %q", of, err, described)
	for _, name := range described {
		testcheck.Must(s.t, os.Remove(name)) // the share finished before the kill: without its description only its rows are left
	}
}

// twins has two rows with the same new key in different regions, and a row without a new key in each.
func (w *world) twins() {
	w.t.Helper()
	w.old += "_twins"
	w.java("create", w.old, "--splits", "m", "--versions", "3")
	for _, row := range []string{"a 1", "b 2", "c", "x", "y 3", "z 1"} {
		key, id, _ := strings.Cut(row, " ")
		w.java("put", w.old, key, "f:name", "of "+key)
		if id != "" {
			w.java("put", w.old, key, "f:id", id)
		}
	}
}

// TestRekeyTwinsByShares checks that rows with the same key in different shares, and rows without a key, are handled as by one process: refused with
// their places by the merge, or left out and set aside.
func TestRekeyTwinsByShares(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	w := newWorld(t)
	w.twins()
	defer w.java("drop", w.old)
	first := w.new
	for _, c := range []struct {
		name, bad, way string
		code           int
		says, rows     string
	}{
		{"fail", "2", "fail", 4, "row 1 of region", ""},
		{"bad", "1", "first", 4, "2 records are bad, and", ""},
		{"first", "2", "first", 0, "", "1 of a,2 of b,3 of y"},
		{"last", "50%", "last", 0, "", "1 of z,2 of b,3 of y"},
	} {
		w.new = first + c.name
		s := w.shared("--to="+w.new, "--key=id", "--splits=2", "--duplicates="+c.way, "--bad-records="+c.bad)
		s.ends(0, "", s.planned())
		s.ends(0, "", s.share("1/2"))
		s.ends(0, "", s.share("2/2"))
		for _, reject := range []string{"share-00001-of-00002 c", "share-00002-of-00002 x"} {
			name, key, _ := strings.Cut(reject, " ")
			if b, err := os.ReadFile(filepath.Join(s.rows, name+".rejects.keys")); err != nil || !strings.HasPrefix(string(b), key+"\tit has no column id") {
				t.Errorf("%s: %q, %v", reject, b, err)
			}
		}
		o := s.merge("1/1", "--show-data")
		s.ends(c.code, c.says, o)
		if c.name == "fail" && !strings.Contains(o.stderr, `"a", "z"]`) {
			t.Errorf("the old keys are not named: %s", o.stderr)
		}
		if c.code == 0 {
			s.sameTwins(c.rows)
		} else {
			s.cleaned()
		}
		if c.name == "bad" {
			s.otherSnapshot()
		}
		w.java("drop", w.new)
	}
}

// cleaned checks that the job of a failed merge leaves nothing behind after clean.
func (s *shared) cleaned() {
	s.t.Helper()
	if len(s.snapshots()) == 0 {
		s.t.Error("the snapshot is gone, which shares may read again")
	}
	p, err := share.Read(s.t.Context(), s.env, s.plan)
	testcheck.Must(s.t, err)
	jobs, err := status.ReadAll(s.state)
	testcheck.Must(s.t, err)
	i := slices.IndexFunc(jobs, func(j *status.State) bool { return j.Table == s.new })
	_, err = checkpoint.Clean(s.t.Context(), s.env, checkpoint.CleanOptions{State: s.state, Job: jobs[i].Job, Remove: true})
	testcheck.Must(s.t, err)
	fsys, dir, err := s.env.Resolve(p.NewKeys.Staging)
	testcheck.Must(s.t, err)
	if _, err := fsys.Stat(s.t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("the staging directory: %v", err)
	}
	if src, err := tablesource.Open(s.t.Context(), s.env, tablesource.Ref{Snapshot: p.Snapshots[0].Name}, tablesource.Options{}); err == nil {
		s.t.Errorf("snapshot %s is left", src.Snapshot.Name)
	}
}

// otherSnapshot checks that a job whose shares read a deleted snapshot builds nothing from another one, unless it is discarded; then the plan is new.
func (s *shared) otherSnapshot() {
	s.t.Helper()
	s.ends(0, "", s.replanned(s.plan+"2"))
	p, err := share.Read(s.t.Context(), s.env, s.plan)
	testcheck.Must(s.t, err)
	c, err := s.env.Dial(s.t.Context())
	testcheck.Must(s.t, err)
	defer c.Close()
	table, err := loader.ParseTableName(s.old)
	testcheck.Must(s.t, err)
	testcheck.Must(s.t, c.DeleteSnapshot(s.t.Context(), table, p.Snapshots[0].Name))
	s.ends(3, "which other processes read, is gone", s.rekey("", 0, s.to...))
	s.ends(5, p.Snapshots[0].Name, s.share("1/2"))
	s.ends(2, "leave --engine out", s.rekey("", 0, append(s.to, "--engine=yarn")...))
	s.ends(0, "", s.replanned(s.plan+"3", "--restart"))
	s.ends(5, "is a share of another plan", s.share("1/2"))
	s.cleaned()
}

// replanned writes a plan into another file.
func (s *shared) replanned(plan string, flags ...string) outcome {
	s.plan = plan
	return s.rekey("", 0, slices.Concat(s.to, []string{"--plan", "--out=" + s.plan}, flags)...)
}

// sameTwins loads the merged files.
func (s *shared) sameTwins(rows string) {
	s.t.Helper()
	s.ends(0, "", s.rekey("", 0, s.to...))
	var got []string
	for _, line := range strings.Split(s.java("scan", s.new), "\n") {
		if f := strings.Split(line, "\t"); slices.Contains(f, "f:name") {
			got = append(got, f[0]+" "+f[len(f)-1])
		}
	}
	if strings.Join(got, ",") != rows {
		s.t.Errorf("%q, want %q", got, rows)
	}
}
