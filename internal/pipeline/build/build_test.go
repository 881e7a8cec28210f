package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
)

// TestFormatsGiveTheSameFiles builds check from CSV, dump and Parquet and
// opinion from CSV and Parquet, with all policies of empty values.
func TestFormatsGiveTheSameFiles(t *testing.T) {
	env := jobtest.Env(t)
	for table, c := range map[string]struct {
		files   []string
		modulus int
		hfiles  int // the rows of opinion use all salts but one
	}{
		"check":   {[]string{"check.csv", "check.dump", "check.parquet"}, 10, 10},
		"opinion": {[]string{"opinion.csv", "opinion.parquet"}, 50, 49},
	} {
		if race.Reduced(t) && table == "opinion" {
			continue
		}
		for _, empty := range []string{"skip", "store"} {
			var first map[string]string
			for _, file := range c.files {
				s := jobtest.Spec(t, table)
				s.Inputs, s.Empty, s.Timestamp = []string{jobtest.Export(t, file)}, empty, 1700000000000
				out := t.TempDir()
				m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(c.modulus), out, WorkOptions{})
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if m.Modulus != c.modulus || len(m.Files) != c.hfiles || m.Records != 3000 {
					t.Errorf("%s: modulus %d, %d files, %d records", file, m.Modulus, len(m.Files), m.Records)
				}
				want := jobtest.DigestLine(t, table, empty)
				if got := fmt.Sprintf("rows=%d cells=%d sha256=%s", m.Digest.Rows, m.Digest.Cells, scanDigest(t, out, m)); got != want {
					t.Errorf("%s, %s: %s, want %s", file, empty, got, want)
				}
				sums := jobtest.Hashes(t, out)
				if first == nil {
					first = sums
				} else if fmt.Sprint(sums) != fmt.Sprint(first) {
					t.Errorf("%s gives other files than %s", file, c.files[0])
				}
			}
		}
	}
}

// scanDigest reads the files in order, like a scan of the table.
func scanDigest(t testing.TB, dir string, m *manifest.Manifest) string {
	t.Helper()
	h := sha256.New()
	for _, f := range m.Files {
		r, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Scan()
		for s.Next() {
			c := s.Cell()
			h.Write(bytes.Join([][]byte{c.Row, c.Family, c.Qualifier, append(bytes.Clone(c.Value), 1)}, []byte{0}))
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		c.Close()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestWorkersAndMemoryDoNotShow builds the same input with one worker and four,
// with plenty of memory and with spilling.
func TestWorkersAndMemoryDoNotShow(t *testing.T) {
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{jobtest.ManyRecords(t, 40_000)}, 1700000000000
	var first map[string]string
	for _, c := range []struct {
		workers int
		memory  spec.Size
		spills  bool
	}{{1, 512 << 20, false}, {4, 512 << 20, false}, {1, 8 << 20, true}, {4, 24 << 20, true}} {
		out := t.TempDir()
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{Workers: c.workers, Memory: c.memory, SpillDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if (m.Runs > 0) != c.spills {
			t.Errorf("%d workers, %s: %d runs", c.workers, c.memory, m.Runs)
		}
		sums := jobtest.Hashes(t, out)
		if first == nil {
			first = sums
		} else if fmt.Sprint(sums) != fmt.Sprint(first) {
			t.Errorf("%d workers in %s give other files", c.workers, c.memory)
		}
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "bulkload-run-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("runs are left behind: %v, %v", left, err)
		}
	}
}

// TestBadInputLoadsNothing checks that errors name the position of the problem and that no file is left.
func TestBadInputLoadsNothing(t *testing.T) {
	env := jobtest.Env(t)
	good := "A1\x01K1" + strings.Repeat("\x01x", 16) + "\x10"
	for name, c := range map[string]struct {
		content string
		say     []string
		kind    fail.Kind
		is      error
	}{
		"too few columns":  {good + "A2\x01K2\x10", []string{"record 2", "at byte 38", "2 columns found, 18 expected"}, fail.BadRows, nil},
		"too many columns": {good + "A2\x01K2" + strings.Repeat("\x01x", 17) + "\x10", []string{"record 2", "19 columns"}, fail.BadRows, nil},
		"empty key":        {good + "A2\x01" + strings.Repeat("\x01x", 16) + "\x10", []string{"record 2", "at byte 38", "column check_id", "empty"}, fail.BadRows, keygen.ErrEmpty},
		"no UTF-8":         {good + "A2\x01\xff" + strings.Repeat("\x01x", 16) + "\x10", []string{"record 2", "column check_id", "UTF-8"}, fail.BadRows, keygen.ErrUTF8},
		"long key":         {good + strings.Repeat("A", 32767) + "\x01K" + strings.Repeat("\x01x", 16) + "\x10", []string{"record 2", "32767"}, fail.BadRows, keygen.ErrLong},
		"two of one key":   {good + good, []string{"two rows have the same key, of ", "offset 0", "offset 38", "`duplicates`"}, fail.BadRows, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "x.dump")
			if err := os.WriteFile(in, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := jobtest.Spec(t, "check")
			s.Inputs = []string{in}
			out := filepath.Join(t.TempDir(), "out")
			_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, out, WorkOptions{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, say := range c.say {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q is not in: %v", say, err)
				}
			}
			if fail.KindOf(err) != c.kind || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("kind %d of %v", fail.KindOf(err), err)
			}
			if sums := hashes2(out); len(sums) > 0 {
				t.Errorf("files are left: %v", sums)
			}
		})
	}
}

// hashes2 lists the files below a directory that may be missing.
func hashes2(dir string) []string {
	var names []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return nil
	})
	return names
}

// TestBadRecordsAreSetAside checks that bad records are counted and written with their reasons, and that the build fails beyond the budget.
func TestBadRecordsAreSetAside(t *testing.T) {
	env := jobtest.Env(t)
	rest := strings.Repeat("\x01x", 16) + "\x10"
	content := "A1\x01K1" + rest + "A2\x01" + rest + "short\x10" + "A3\x01K3" + rest
	in := filepath.Join(t.TempDir(), "x.dump")
	if err := os.WriteFile(in, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for budget, ok := range map[string]bool{"0": false, "1": false, "2": true, "49%": false, "50%": true} {
		s := jobtest.Spec(t, "check")
		s.Inputs, s.BadRecords = []string{in}, budget
		rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, out, WorkOptions{RejectFile: rejects})
		if (err == nil) != ok {
			t.Errorf("--bad-records %s: %v", budget, err)
			continue
		}
		if !ok {
			if fail.KindOf(err) != fail.BadRows {
				t.Errorf("--bad-records %s: kind %d of %v", budget, fail.KindOf(err), err)
			}
			if left := hashes2(out); len(left) > 0 {
				t.Errorf("--bad-records %s: files are left: %v", budget, left)
			}
			continue
		}
		if m.Rejected != 2 || m.Digest.Rows != 2 || m.Records != 4 {
			t.Errorf("--bad-records %s: %+v", budget, m)
		}
		b, err := os.ReadFile(rejects)
		if err != nil || bytes.Count(b, []byte("\n")) != 3 || !bytes.Contains(b, []byte("check_id")) || !bytes.Contains(b, []byte("18 expected")) {
			t.Errorf("reject file: %s, %v", b, err)
		}
	}
}

func TestDuplicatePolicies(t *testing.T) {
	env := jobtest.Env(t)
	row := func(v string) string { return "A1\x01K1" + strings.Repeat("\x01"+v, 16) + "\x10" }
	in := filepath.Join(t.TempDir(), "x.dump")
	if err := os.WriteFile(in, []byte(row("first")+row("middle")+row("last")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"first", "last"} {
		s := jobtest.Spec(t, "check")
		s.Inputs, s.Duplicates = []string{in}, policy
		out := t.TempDir()
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, out, WorkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(out, m.Files[0].Name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		scan := r.Scan()
		if !scan.Next() || string(scan.Cell().Value) != policy || m.Duplicates != 2 || m.Digest.Rows != 1 {
			t.Errorf("%s: first value %q, %+v", policy, scan.Cell().Value, m)
		}
	}
}

func TestEmptyInputGivesNoFiles(t *testing.T) {
	env := jobtest.Env(t)
	in := filepath.Join(t.TempDir(), "x.csv")
	s := jobtest.Spec(t, "check")
	if err := os.WriteFile(in, []byte(strings.Join(s.Columns, ",")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Inputs, s.AllowEmpty = []string{in}, true
	m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(3), t.TempDir(), WorkOptions{})
	if err != nil || len(m.Files) != 0 || m.Digest.Rows != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
}

func TestStoppedBuildLeavesNothing(t *testing.T) {
	env := jobtest.Env(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	out := filepath.Join(t.TempDir(), "out")
	w := WorkOptions{Events: progress.Events{OnHFile: func(progress.HFile) { cancel() }}, Workers: 1}
	_, err := Directory(ctx, env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, w)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if left := hashes2(out); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestSpecIsReadStrictly(t *testing.T) {
	_, err := spec.ParseSpec("job.yaml", []byte("table: check\nkey: id\nkeey: x\n"))
	if fail.KindOf(err) != fail.Config || !strings.HasPrefix(err.Error(), `job file job.yaml:3:1: unknown field "keey"`) {
		t.Errorf("unknown field: %v", err)
	}
	for bad, want := range map[string]string{
		"key: nope(id)":                           `key: key spec "nope(id)", position 1: unknown function "nope"`,
		"key: id\nempty: maybe":                   `empty: "maybe" is invalid: want one of skip, store`,
		"key: id\nfield_sep: '123456789'":         "field_sep: ",
		"key: id\nbad_records: x":                 "bad_records: ",
		"key: id\ncolumns: [a, a]":                `columns: column "a" is named twice`,
		"key: id\nsalt_buckets: -1":               "salt_buckets: -1 is below 0",
		"key: id\ntimestamp: 9223372036854775807": "timestamp: 9223372036854775807 means now in HBase",
		"{}": "key: missing",
	} {
		s, err := spec.ParseSpec("job.yaml", []byte(bad))
		if err == nil {
			_, err = s.Resolve()
		}
		if fail.KindOf(err) != fail.Config || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	env := jobtest.Env(b)
	s := jobtest.Spec(b, "check")
	const rows = 200_000
	s.Inputs = []string{jobtest.ManyRecords(b, rows)}
	info, err := os.Stat(s.Inputs[0])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Directory(b.Context(), env, jobtest.Resolve(b, s), jobtest.Family, partition.SaltSplits(10), b.TempDir(), WorkOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
