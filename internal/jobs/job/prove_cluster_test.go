package job

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"
)

// builtFiles builds the check export for a table of three salts into a local
// directory, in uncompressed blocks, so that tests can find values in them.
func builtFiles(t *testing.T, env *cluster.Env) (string, *manifest.Manifest) {
	t.Helper()
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	dir := t.TempDir()
	m, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), spec.Family{Name: "f", Bloom: hfile.BloomRow}, partition.SaltSplits(3), dir, build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

// writeOver replaces a file.
func writeOver(ctx context.Context, fsys hdfsio.FS, name string, b []byte) error {
	if err := fsys.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := fsys.Create(ctx, name, hdfsio.CreateOptions{Perm: 0o666})
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Finish()
}

// flipBit flips one bit in the middle of a file's data blocks.
func flipBit(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/3] ^= 4
	return b
}

// changeValue changes a value in the first data block and updates the block's
// checksums: every check of the file itself passes.
func changeValue(t testing.TB, b []byte) []byte {
	t.Helper()
	b = bytes.Clone(b)
	at := bytes.Index(b, []byte("create_by"))
	if at < 0 || b[at+len("create_by")+9] == 'X' {
		t.Fatalf("no value to change at %d", at)
	}
	b[at+len("create_by")+9] = 'X' // after eight bytes of timestamp and one of type
	setChecksums(b, 0)
	return b
}

// breakOrder changes a key in the middle of the first data block to one that sorts
// before the preceding keys, and updates the block's checksums.
func breakOrder(t testing.TB, b []byte) []byte {
	t.Helper()
	b = bytes.Clone(b)
	at := 4096 + bytes.Index(b[4096:], []byte("\x01fcreate_by"))
	if at < 4096 || at > 60<<10 {
		t.Fatalf("no key to change at %d", at)
	}
	b[at-1] = '!' // the row's last byte
	setChecksums(b, 0)
	return b
}

// setChecksums computes the checksums of the block at off again (CRC32C).
func setChecksums(b []byte, off int) {
	h := b[off:]
	per, data := int(binary.BigEndian.Uint32(h[25:])), int(binary.BigEndian.Uint32(h[29:]))
	sums := h[data:]
	for at := 0; at < data; at += per {
		binary.BigEndian.PutUint32(sums, crc32.Checksum(h[at:min(at+per, data)], crc32.MakeTable(crc32.Castagnoli)))
		sums = sums[4:]
	}
}

// noRows checks that a table is empty.
func noRows(t testing.TB, c *testcluster.Cluster, table string) {
	t.Helper()
	got, err := c.AdminT(t).Digest(t.Context(), table)
	if err != nil || !strings.HasPrefix(got, "rows=0 ") {
		t.Errorf("the table has %s, %v", got, err)
	}
}

// TestDamagedFileIsNotPublished damages one of several files, local and on HDFS,
// with and without a manifest: nothing is loaded.
func TestDamagedFileIsNotPublished(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 3, nil) // shared by all, since it stays empty
	dir, m := builtFiles(t, env)
	victim := m.Files[1].Name
	whole := map[string][]byte{}
	for _, f := range m.Files {
		whole[f.Name] = jobtest.ReadWhole(t, hdfsio.Local{}, filepath.Join(dir, f.Name))
	}
	text := jobtest.ReadWhole(t, hdfsio.Local{}, filepath.Join(dir, manifest.FileName))
	for _, c := range []struct {
		what     string
		manifest []byte
		victim   []byte
		word     string // part of the error
	}{
		{"a flipped bit, with a manifest", text, flipBit(whole[victim]), victim},
		{"a flipped bit, without a manifest", nil, flipBit(whole[victim]), victim},
		{"a flipped bit, with a manifest without checksums", oldManifest(t, text), flipBit(whole[victim]), victim},
		{"a value changed behind right checksums", text, changeValue(t, whole[victim]), victim},
		{"keys out of order behind right checksums", nil, breakOrder(t, whole[victim]), victim},
		{"a manifest with another digest", bytes.Replace(text, []byte(fmt.Sprint(m.Digest.Sum)), []byte("12345"), 1), whole[victim], manifest.FileName},
		{"a manifest with another number of rows", bytes.Replace(text, []byte(fmt.Sprintf(`"rows": %d`, m.Digest.Rows)), []byte(fmt.Sprintf(`"rows": %d`, m.Digest.Rows-1)), 1), whole[victim], manifest.FileName},
		{"an old manifest with another number of rows", oldManifest(t, bytes.Replace(text, []byte(fmt.Sprintf(`"rows": %d`, m.Digest.Rows)), []byte(fmt.Sprintf(`"rows": %d`, m.Digest.Rows-1)), 1)), whole[victim], manifest.FileName},
		{"a manifest with another first row", bytes.Replace(text, []byte(`"first_row": "`), []byte(`"first_row": "QUFB`), 1), whole[victim], manifest.FileName},
	} {
		for _, where := range []string{"local", "hdfs"} {
			t.Run(c.what+", "+where, func(t *testing.T) {
				at, fsys, p := t.TempDir(), hdfsio.FS(hdfsio.Local{}), ""
				if p = at; where == "hdfs" {
					at = "hdfs:///tmp/damaged-" + testcheck.Name(t)
					var err error
					if fsys, p, err = env.Resolve(at); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = fsys.RemoveAll(context.Background(), p) })
				}
				for _, d := range []string{p, path.Join(p, "f")} {
					if err := fsys.MkdirAll(t.Context(), d, 0o777); err != nil {
						t.Fatal(err)
					}
				}
				for n, b := range whole {
					if n == victim {
						b = c.victim
					}
					if err := writeOver(t.Context(), fsys, path.Join(p, n), b); err != nil {
						t.Fatal(err)
					}
				}
				if c.manifest != nil {
					if err := writeOver(t.Context(), fsys, path.Join(p, manifest.FileName), c.manifest); err != nil {
						t.Fatal(err)
					}
				}
				_, err := LoadDir(t.Context(), env, name, at, LoadOptions{Verify: "off"})
				if fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), c.word) || !strings.Contains(fmt.Sprint(err), "`trust_files`") {
					t.Errorf("loaded: %v", err)
				}
				noRows(t, cluster, name)
				nothingStaged(t, env, name)
			})
		}
	}
}

// oldManifest removes fields from a manifest that older versions did not write.
func oldManifest(t testing.TB, b []byte) []byte {
	t.Helper()
	var lines [][]byte
	for line := range bytes.Lines(b) {
		if !bytes.Contains(line, []byte(`"crc32c"`)) && !bytes.Contains(line, []byte(`"checksum"`)) {
			lines = append(lines, line)
		}
	}
	b = bytes.Join(lines, nil)
	return regexp.MustCompile(`,\n *}`).ReplaceAll(b, []byte("\n}"))
}

// replica returns the path of the only block of a file on the DataNode's disk.
func replica(t testing.TB, c *testcluster.Cluster, content []byte) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(c.Dir(), "data"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "blk_") || strings.HasSuffix(p, ".meta") {
			return nil // files of other tests appear and disappear
		}
		if info, err := d.Info(); err != nil || info.Size() != int64(len(content)) {
			return nil
		}
		if b, err := os.ReadFile(p); err == nil && bytes.Equal(b, content) {
			found = p
		}
		return nil
	})
	if err != nil || found == "" {
		t.Fatalf("no block of %d bytes below %s: %v", len(content), c.Dir(), err)
	}
	return found
}

// flipReplica flips a bit of a block on the DataNode's disk. HDFS's own checksums
// next to it detect that, unless they are updated too.
func flipReplica(t testing.TB, name string, right bool) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b = flipBit(b)
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if !right {
		return
	}
	metas, err := filepath.Glob(name + "_*.meta")
	if err != nil || len(metas) != 1 {
		t.Fatalf("%q %v", metas, err)
	}
	meta, err := os.ReadFile(metas[0])
	if err != nil {
		t.Fatal(err)
	}
	// version, checksum type and bytes per checksum, then a checksum of each chunk
	per := int(binary.BigEndian.Uint32(meta[3:]))
	for i := 0; i*per < len(b); i++ {
		binary.BigEndian.PutUint32(meta[7+4*i:], crc32.Checksum(b[i*per:min((i+1)*per, len(b))], crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(metas[0], meta, 0o644); err != nil {
		t.Fatal(err)
	}
}

// stagedFiles returns the finished files of a job that was killed.
func (p *program) stagedFiles() (hdfsio.FS, []string) {
	p.t.Helper()
	var plan history.PlanRecord
	for _, r := range p.records() {
		if r.Event == "plan" {
			var err error
			if plan, err = history.Decode[history.PlanRecord](r); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	fsys, dir, err := p.env.Resolve(plan.Staging + "/f")
	if err != nil {
		p.t.Fatal(err)
	}
	infos, err := fsys.ReadDir(p.t.Context(), dir)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, info := range infos {
		names = append(names, path.Join(dir, info.Name()))
	}
	return fsys, names
}

// TestStagedFileDamagedBetweenAttempts kills the program, flips a bit in a file
// that it has staged, and runs the same command again: the file is written again,
// or nothing more is loaded.
func TestStagedFileDamagedBetweenAttempts(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	damage := map[string]func(t *testing.T, p *program, fsys hdfsio.FS, file string){
		"another file of its name": func(t *testing.T, _ *program, fsys hdfsio.FS, file string) {
			if err := writeOver(t.Context(), fsys, file, flipBit(jobtest.ReadWhole(t, fsys, file))); err != nil {
				t.Fatal(err)
			}
		},
		"a bit on the disk": func(t *testing.T, p *program, fsys hdfsio.FS, file string) {
			flipReplica(t, replica(t, p.cluster, jobtest.ReadWhole(t, fsys, file)), false)
		},
		"a bit on the disk, and its checksum": func(t *testing.T, p *program, fsys hdfsio.FS, file string) {
			flipReplica(t, replica(t, p.cluster, jobtest.ReadWhole(t, fsys, file)), true)
		},
	}
	for what, do := range damage {
		for _, after := range []string{"written:3", "built", "loading", "prepared", "loaded:1"} {
			t.Run(what+" after "+after, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, name)
				// One at a time: otherwise a concurrent request takes the file before it is damaged.
				if code, _, stderr := p.run(after, "--load-concurrency=1"); code != 128+9 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				fsys, files := p.stagedFiles()
				victim := files[0]
				t.Cleanup(func() { _ = fsys.RemoveAll(context.Background(), path.Dir(path.Dir(victim))) })
				do(t, p, fsys, victim)
				code, _, stderr := p.run("", "--verify=off")
				if after == "written:3" || after == "built" {
					if code != 0 {
						t.Fatalf("exit code %d: %s", code, stderr)
					}
					p.judge(programRegions)
					return
				}
				if code != 7 || !strings.Contains(stderr, path.Base(victim)) {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				before := p.count("loaded")
				if code, _, stderr := p.run(""); code != 7 || p.count("loaded") != before {
					t.Errorf("again: exit code %d: %s", code, stderr)
				}
			})
		}
	}
}

// TestFileReplacedBeforeTheLoad replaces a file that this process has staged, just
// before it is loaded.
func TestFileReplacedBeforeTheLoad(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	for _, c := range []struct {
		what  string
		state bool
		harm  func(fsys hdfsio.FS, name string)
	}{
		{"another file, with a journal", true, func(fsys hdfsio.FS, name string) {
			if err := writeOver(t.Context(), fsys, name, flipBit(jobtest.ReadWhole(t, fsys, name))); err != nil {
				t.Error(err)
			}
		}},
		{"another file, without a journal", false, func(fsys hdfsio.FS, name string) {
			if err := writeOver(t.Context(), fsys, name, flipBit(jobtest.ReadWhole(t, fsys, name))); err != nil {
				t.Error(err)
			}
		}},
		{"a bit on the disk", false, func(fsys hdfsio.FS, name string) {
			flipReplica(t, replica(t, cluster, jobtest.ReadWhole(t, fsys, name)), false)
		}},
		{"a bit on the disk, and its checksum", true, func(fsys hdfsio.FS, name string) {
			flipReplica(t, replica(t, cluster, jobtest.ReadWhole(t, fsys, name)), true)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			table := jobtest.FreshTable(t, env, 3, nil)
			s := jobtest.Spec(t, "check")
			s.Table, s.Inputs, s.Verify = table, []string{jobtest.Export(t, "check.csv")}, "off"
			var file progress.HFile
			var staging string
			var o RunOptions
			o.Events = progress.Events{
				OnStart: func(s progress.Start) { staging = s.Staging },
				OnHFile: func(f progress.HFile) { file = f },
				OnPhase: func(phase string) {
					if phase != "load" && phase != "check" || file.Name == "" {
						return
					}
					fsys, dir, err := env.Resolve(staging)
					if err != nil {
						t.Error(err)
						return
					}
					c.harm(fsys, path.Join(dir, file.Name))
					file.Name = "" // once
				},
			}
			if c.state {
				o.State.Dir = t.TempDir()
			}
			_, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
			if err == nil {
				t.Error("it is loaded")
			}
			noRows(t, cluster, table)
			if fsys, dir, err := env.Resolve(staging); err == nil {
				_ = fsys.RemoveAll(t.Context(), dir) // kept, since nothing was loaded from it
			}
		})
	}
}

// TestTrustedFilesAreNotRead loads a damaged file, as requested by the caller.
func TestTrustedFilesAreNotRead(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	dir, m := builtFiles(t, env)
	name := filepath.Join(dir, m.Files[1].Name)
	if err := os.WriteFile(name, changeValue(t, jobtest.ReadWhole(t, hdfsio.Local{}, name)), 0o644); err != nil {
		t.Fatal(err)
	}
	table := jobtest.FreshTable(t, env, 3, nil)
	o := LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Events: progress.Events{OnChecked: func(int64) { t.Error("a file is read before the load") }}}}, Verify: "off", TrustFiles: true}
	if _, err := LoadDir(t.Context(), env, table, dir, o); err != nil {
		t.Fatal(err)
	}
	if got, err := cluster.AdminT(t).Digest(t.Context(), table); err != nil || !strings.HasPrefix(got, fmt.Sprintf("rows=%d ", m.Digest.Rows)) {
		t.Errorf("the table has %s, %v", got, err)
	}
}
