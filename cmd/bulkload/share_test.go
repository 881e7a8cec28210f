package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// sharedJob is a job that several processes do in a directory.
type sharedJob struct {
	t    *testing.T
	dir  string
	args []string // of plan and of build, except the output
}

// program runs the program to its end, and returns its exit code.
func (j sharedJob) program(args ...string) (out string, code int) {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), "bulkload", args...)
	cmd.Dir = j.dir
	b, err := cmd.CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), e.ExitCode()
	}
	if err != nil {
		j.t.Fatal(err)
	}
	return string(b), 0
}

// must is program with exit code 0.
func (j sharedJob) must(args ...string) string {
	j.t.Helper()
	out, code := j.program(args...)
	if code != 0 {
		j.t.Fatalf("%v ends with %d: %s", args, code, out)
	}
	return out
}

func (j sharedJob) plan() {
	j.t.Helper()
	j.must(append([]string{"plan", "--quiet", "--split-size", "20KiB", "--out", "plan"}, j.args...)...)
}

func shareArgs(k, n int) []string {
	return []string{"build", "--quiet", "--plan", "plan", "--share", fmt.Sprintf("%d/%d", k, n), "--out", "rows"}
}

func mergeArgs(k, m int) []string {
	return []string{"merge", "--quiet", "--plan", "plan", "--shares", "rows", "--out", "hfiles", "--share", fmt.Sprintf("%d/%d", k, m)}
}

// local returns the files of a single build, by name, and its manifests, by directory.
func (j sharedJob) local() (map[string]string, map[string]any) {
	j.t.Helper()
	j.must(append([]string{"build", "--quiet", "--out", "local"}, j.args...)...)
	return treeOf(j.t, filepath.Join(j.dir, "local")), manifestsOf(j.t, filepath.Join(j.dir, "local"))
}

// treeOf returns the HFiles below a directory, with their digests.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "_") {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "_") {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// manifestsOf returns the manifest of a directory, or for several tables those of its subdirectories, without the
// fields that depend on how the work was done.
func manifestsOf(t *testing.T, dir string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, pattern := range []string{"_bulkload.json", "*/_bulkload.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		testcheck.Must(t, err)
		for _, file := range found {
			b, err := os.ReadFile(file)
			testcheck.Must(t, err)
			var m map[string]any
			testcheck.Must(t, json.Unmarshal(b, &m))
			for _, name := range []string{"read_ns", "write_ns", "spill_bytes", "runs", "reject_file", "checksum"} {
				delete(m, name)
			}
			all[strings.TrimPrefix(file, dir)] = m
		}
	}
	return all
}

// hold compares the merged files and manifests with those of a single build.
func (j sharedJob) hold(files map[string]string, manifest map[string]any) {
	j.t.Helper()
	dir := filepath.Join(j.dir, "hfiles")
	if got := treeOf(j.t, dir); fmt.Sprint(got) != fmt.Sprint(files) {
		j.t.Errorf("the files are %v, one build has %v", got, files)
	}
	if got := manifestsOf(j.t, dir); len(got) == 0 || fmt.Sprint(got) != fmt.Sprint(manifest) {
		j.t.Errorf("the manifest is %v, one build has %v", got, manifest)
	}
	for _, pattern := range []string{"_writing", "*/_writing"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			j.t.Errorf("%v is left: %v", left, err)
		}
	}
}

// clean removes the files of shares and merges.
func (j sharedJob) clean() {
	j.t.Helper()
	for _, name := range []string{"rows", "hfiles"} {
		if err := os.RemoveAll(filepath.Join(j.dir, name)); err != nil {
			j.t.Fatal(err)
		}
	}
}

// doubled writes records whose keys are repeated far apart; a few have no key.
func doubled(t *testing.T, name string, n int) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("id,name,n\n")
	for i := range n {
		key := i * 7919 % (n * 2 / 3)
		if i%1000 == 999 {
			fmt.Fprintf(&b, ",no key,%d\n", i)
			continue
		}
		fmt.Fprintf(&b, "k%05d,name %d of %d,%d\n", key, i, key, i%10)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sharedJobs returns jobs of each kind.
func sharedJobs(t *testing.T) map[string][]string {
	t.Helper()
	root := jobtest.Absolute(t, "../..")
	stamp := []string{"--timestamp", "1700000000000"}
	jobs := map[string][]string{}
	for table, splits := range map[string]string{"check": "salt:10", "opinion": "salt:50"} {
		for _, ext := range []string{"csv", "dump", "parquet"} {
			input := filepath.Join(root, "testdata", "exports", table+"."+ext)
			if _, err := os.Stat(input); err == nil {
				jobs[table+"."+ext] = append([]string{"--job", filepath.Join(root, "examples", table+".yaml"), "--input", input, "--splits", splits}, stamp...)
			}
		}
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "doubled.csv")
	doubled(t, input, 9000)
	computed, salt := filepath.Join(dir, "computed.yaml"), filepath.Join(dir, "salt")
	testcheck.Must(t, os.WriteFile(salt, []byte("0123456789abcdef\n"), 0o600))
	testcheck.Must(t, os.WriteFile(computed, []byte("table: t\nkey: id\nbad_records: 1%\nduplicates: last\nfilter: n < 7 and name not like '%1'\ncells: [{expr: 'upper(name)', qualifier: u}, {expr: 'add(n, 1)', qualifier: l, type: long}, {expr: salted(name), qualifier: m}]\nsalt_file: "+salt+"\n"), 0o600))
	jobs["a filter and computed cells"] = append([]string{"--job", computed, "--input", input, "--splits", "k01000,k03"}, stamp...)
	mappings := map[string]string{"plain": "", "wide rows": "cells:\n  - column: name\n    qualifier_from: n\n",
		"families": "cells:\n  - {column: name, family: a}\n  - {column: n, family: b}\n  - {column: id}\n"}
	for name, mapping := range mappings {
		job := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(job, []byte("table: t\nkey: id\nbad_records: 1%\n"+mapping), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, policy := range []string{"first", "last"} {
			jobs[name+", "+policy] = append([]string{"--job", job, "--duplicates", policy, "--input", input, "--splits", "k01000,k01001,k03,k05999,z"}, stamp...)
		}
	}
	indexed, several := filepath.Join(dir, "indexed.yaml"), filepath.Join(dir, "several.yaml")
	testcheck.Must(t, os.WriteFile(indexed, []byte(`table: ns:check
key: salt(check_id) + md5hex(check_id) + id
filter: update_date >= '2015-01-01'
tables:
  - {index: by_rule, table: by_rule, key: rule_no + "|" + id, covers: [hit_ind]}
  - {table: plain, key: id, columns: [check_id, rule_no], family: g, filter: hit_ind = 'Y'}
`), 0o600))
	jobs["a table and an index"] = append([]string{"--job", indexed, "--input", filepath.Join(root, "testdata", "exports", "check.csv"), "--splits", "salt:4", "--table-splits", "plain=4,8"}, stamp...)
	testcheck.Must(t, os.WriteFile(several, []byte("table: t\nkey: id\nbad_records: 1%\nduplicates: last\ntables:\n  - {table: by_n, key: n + id, columns: [name], duplicates: first}\n"), 0o600))
	t.Setenv("HBASE_CONF_DIR", newSharedSnapshot(t).conf)
	ofTable := []string{"--input", "snapshot:s", "--table", "t", "--key", "n", "--columns", "n,v,$row,id", "--parse", "id", "--splits", "k01,k03,k05"}
	jobs["a snapshot, first"] = append(append([]string{"--duplicates", "first"}, ofTable...), stamp...)
	jobs["a snapshot, last"] = append(append([]string{"--duplicates", "last"}, ofTable...), stamp...)
	versions := filepath.Join(dir, "versions.yaml")
	testcheck.Must(t, os.WriteFile(versions, []byte("table: t\nkey: $row\ncolumns: [$row, $timestamp, n, v]\nskip: [$row, $timestamp]\ncells:\n  - columns: [n, v]\ncell_timestamp: {column: $timestamp, layout: unixms}\nduplicates: versions\nversions: 2\ninput_versions: 2\n"), 0o600))
	jobs["a snapshot, versions"] = append([]string{"--job", versions, "--input", "snapshot:s", "--splits", "3,6"}, stamp...)
	beside := filepath.Join(dir, "another.csv")
	testcheck.Must(t, os.WriteFile(beside, []byte("v,n\nbefore,k00001\nafter,k06\n"), 0o600))
	jobs["a snapshot and a file"] = append([]string{"--duplicates", "first", "--input", beside, "--input", "snapshot:s", "--table", "t", "--key", "n", "--columns", "n,v", "--splits", "k01"}, stamp...)
	jobs["several tables, last"] = append([]string{"--job", several, "--input", input, "--splits", "k01000,k03", "--table-splits", "by_n=5k"}, stamp...)
	return jobs
}

// TestSharesAreOneBuild runs shares and merges as processes: for any number of them, the files and the manifest must
// be those of a single build.
func TestSharesAreOneBuild(t *testing.T) {
	shares := map[int]int{1: 2, 2: 1, 7: 3} // numbers of shares and of their merges
	jobs := sharedJobs(t)
	if race.Reduced(t) {
		shares = map[int]int{2: 1}
	}
	if race.On {
		maps.DeleteFunc(jobs, func(name string, _ []string) bool { // the other jobs differ in their inputs and cells
			return !slices.Contains([]string{"check.parquet", "families, last", "a table and an index", "a snapshot and a file", "several tables, last"}, name)
		})
	}
	for name, args := range jobs {
		t.Run(name, func(t *testing.T) {
			j := sharedJob{t, t.TempDir(), args}
			files, manifest := j.local()
			j.plan()
			for n, merges := range shares {
				j.clean()
				var wait sync.WaitGroup
				work := make(chan []string)
				for range 2 {
					wait.Go(func() {
						for args := range work {
							if out, code := j.program(args...); code != 0 {
								t.Errorf("%v ends with %d: %s", args, code, out)
							}
						}
					})
				}
				for k := n; k >= 1; k-- {
					work <- shareArgs(k, n)
				}
				close(work)
				wait.Wait()
				for k := 1; k <= merges; k++ {
					if len(manifestsOf(t, filepath.Join(j.dir, "hfiles"))) > 0 {
						t.Errorf("there is a manifest before merge %d of %d", k, merges)
					}
					j.must(mergeArgs(k, merges)...)
				}
				j.hold(files, manifest)
			}
		})
	}
}

// TestSharesHaveOneSecret checks that the plan has a digest of the secret, so that a share refuses another one.
func TestSharesHaveOneSecret(t *testing.T) {
	dir := t.TempDir()
	doubled(t, filepath.Join(dir, "in.csv"), 300)
	const secret = "0123456789abcdef"
	salt := filepath.Join(dir, "salt")
	testcheck.Must(t, os.WriteFile(salt, []byte(secret), 0o600))
	j := sharedJob{t, dir, []string{"--key", "id", "--input", "in.csv", "--duplicates", "first", "--bad-records", "5", "--splits", "k001", "--filter", "salted(name) > '8'", "--salt-file", "salt"}}
	j.plan()
	j.must(shareArgs(1, 2)...)
	testcheck.Must(t, os.WriteFile(salt, []byte("another "+secret), 0o600))
	if out, code := j.program(shareArgs(2, 2)...); code != fail.Config.ExitCode() || !strings.Contains(out, "another secret than when the plan was made") {
		t.Errorf("a share with another secret ends with %d: %s", code, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "plan"))
	if err != nil || strings.Contains(string(b), secret) || !strings.Contains(string(b), "salt_digest") {
		t.Errorf("the plan has %s, %v", b, err)
	}
}

// TestSharesBeginElsewhere checks that a plan has the absolute paths of local inputs, so that shares may start in any
// directory.
func TestSharesBeginElsewhere(t *testing.T) {
	dir := t.TempDir()
	doubled(t, filepath.Join(dir, "in.csv"), 300)
	j := sharedJob{t, dir, []string{"--key", "id + n", "--input", "in.csv", "--duplicates", "first", "--bad-records", "5", "--splits", "k001", "--timestamp", "1700000000000"}}
	files, manifest := j.local()
	j.plan()
	elsewhere := sharedJob{t, t.TempDir(), nil}
	for _, name := range []string{"plan", "rows", "hfiles"} {
		testcheck.Must(t, os.Symlink(filepath.Join(dir, name), filepath.Join(elsewhere.dir, name)))
	}
	for _, name := range []string{"rows", "hfiles"} {
		testcheck.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	elsewhere.must(shareArgs(1, 1)...)
	elsewhere.must(mergeArgs(1, 1)...)
	j.hold(files, manifest)
}

// TestBudgetOfAllShares checks that the budget of bad records applies to all shares together, even if one share has
// more than its part; each share keeps its own bad records.
func TestBudgetOfAllShares(t *testing.T) {
	dir := t.TempDir()
	doubled(t, filepath.Join(dir, "in.csv"), 3000) // 3 bad records
	for budget, code := range map[string]int{"0.1%": 0, "3": 0} {
		j := sharedJob{t, dir, []string{"--key", "id", "--input", "in.csv", "--duplicates", "first", "--bad-records", budget, "--splits", "k001"}}
		j.clean()
		if err := os.RemoveAll(filepath.Join(dir, "plan")); err != nil {
			t.Fatal(err)
		}
		j.plan()
		var last int
		for k := 1; k <= 3 && last == 0; k++ {
			var out string
			if out, last = j.program(shareArgs(k, 3)...); last != 0 {
				t.Errorf("%s: share %d ends with %d: %s", budget, k, last, out)
			}
		}
		if last == 0 {
			var out string
			if out, last = j.program(mergeArgs(1, 1)...); last != 0 && !strings.Contains(out, "records are bad") {
				t.Errorf("%s: %s", budget, out)
			}
		}
		if last != code {
			t.Errorf("%s: exit code %d, want %d", budget, last, code)
		}
		rejects, err := filepath.Glob(filepath.Join(dir, "rows", "share-*-of-00003.rejects.jsonl"))
		if err != nil || len(rejects) == 0 {
			t.Errorf("%s: %v %v", budget, rejects, err)
		}
	}
}

// killedShare kills a share after it has begun to write. It returns false if the share was complete before.
func killedShare(t *testing.T, dir string) bool {
	t.Helper()
	cmd := exec.Command("bulkload", shareArgs(1, 2)...)
	cmd.Dir = dir
	testcheck.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	testcheck.Eventually(t, 2*time.Minute, "the share has begun a file", func() (bool, any) {
		select {
		case <-ended:
			return true, nil
		default:
		}
		left, err := filepath.Glob(filepath.Join(dir, "rows", ".share-*.tmp"))
		testcheck.Must(t, err)
		return len(left) > 0, left
	})
	_ = cmd.Process.Kill() // it may have ended
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != -1 && code != 0 {
		t.Fatalf("the share ends with %d", code)
	}
	return !cmd.ProcessState.Success()
}

// TestSharesKilledAndDoubled checks that a killed share, and a share and a merge that run twice at once, are
// harmless.
func TestSharesKilledAndDoubled(t *testing.T) {
	dir := t.TempDir()
	doubled(t, filepath.Join(dir, "in.csv"), 200_000)
	j := sharedJob{t, dir, []string{"--key", "id", "--input", "in.csv", "--duplicates", "last", "--bad-records", "1%", "--splits", "k03,k05", "--timestamp", "1700000000000"}}
	files, manifest := j.local()
	j.plan()
	// A share that is complete before it was found running is run again.
	testcheck.Eventually(t, 3*time.Minute, "a share is killed", func() (bool, any) {
		testcheck.Must(t, os.RemoveAll(filepath.Join(dir, "rows")))
		return killedShare(t, dir), "it was done before it was killed"
	})
	j.must(shareArgs(2, 2)...)
	if out, code := j.program(mergeArgs(1, 1)...); code != 5 || !strings.Contains(out, "1 of 2 shares is missing in rows: 1/2") {
		t.Fatalf("%d: %s", code, out)
	}
	twice := func(args []string) {
		t.Helper()
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				if out, code := j.program(args...); code != 0 {
					t.Errorf("%v ends with %d: %s", args, code, out)
				}
			})
		}
		wait.Wait()
	}
	twice(shareArgs(1, 2))
	j.must(shareArgs(1, 2)...) // again: it replaces the existing files
	if left, err := filepath.Glob(filepath.Join(dir, "rows", "share-00001-*.json")); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
	twice(mergeArgs(1, 2))
	twice(mergeArgs(2, 2))
	j.hold(files, manifest)
	testcheck.Must(t, os.Mkdir(filepath.Join(dir, "hfiles", "_writing"), 0o755)) // of a merge that was killed after it wrote the manifest
	j.must(mergeArgs(2, 2)...)
	j.hold(files, manifest)
}

// TestBelow checks that a URI keeps both slashes after its scheme.
func TestBelow(t *testing.T) {
	for dir, want := range map[string]string{"out": "out/f/x", "./out/": "out/f/x", "/out": "/out/f/x", "hdfs:///tmp/out/": "hdfs:///tmp/out/f/x", "hdfs://nn:8020/out": "hdfs://nn:8020/out/f/x"} {
		if got := below(dir, "f/x"); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}
