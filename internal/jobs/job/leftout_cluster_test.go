package job

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
)

// leftOutRecords makes two files. Every third record of the second has a key of the first, and a filter drops every fifth record of both. It returns
// the expected numbers of lines in the files of a run: of filtered records, and of duplicates last.
func leftOutRecords(t *testing.T, dir string) (inputs []string, filtered, duplicates int) {
	keys := map[string]bool{}
	for file := range 2 {
		var b strings.Builder
		b.WriteString("id,v\n")
		for i := range 300 {
			id, v := fmt.Sprintf("k%04d", i+file*1000), "kept"
			if file == 1 && i%3 == 0 {
				id = fmt.Sprintf("k%04d", i)
			}
			switch {
			case i%5 == 0:
				v = "out"
				filtered++
			case keys[id]:
				duplicates++
			default:
				keys[id] = true
			}
			fmt.Fprintf(&b, "%s,%s\n", id, v)
		}
		name := filepath.Join(dir, fmt.Sprintf("%d.csv", file))
		testcheck.Must(t, os.WriteFile(name, []byte(b.String()), 0o600))
		inputs = append(inputs, name)
	}
	return inputs, filtered, duplicates
}

// TestFilesOfKilledRuns kills runs after records of their journals. The same command then writes the same files of dropped records as an
// uninterrupted run; a run that reads the table then has a file of the records that its own filter drops.
func TestFilesOfKilledRuns(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for kind, flags := range map[string][]string{"run": nil, "replace": {"--replace", "--max-deletes=100%"}, "into": {"--replace", "--max-deletes=100%"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgramAt(t, name, [][]byte{[]byte("k0100"), []byte("k0200"), []byte("k1000")})
			inputs, filtered, duplicates := leftOutRecords(t, t.TempDir())
			if kind == "into" {
				flags = append(flags, "--into="+freshName(t).String())
			}
			files := map[string]string{}
			run := func(stopAfter, state string, more ...string) (int, result.Result, string) {
				args := append([]string{"run", "--quiet", "--output=json", "--key=id", "--columns=id,v", "--table=" + p.table, "--state=" + filepath.Join(p.state, state), "--verify=full",
					"--memory=64MiB", "--filtered-file=" + filepath.Join(p.state, state+".f.jsonl"), "--filter=v != 'out'"}, more...)
				code, stdout, stderr := p.end(func(ctx context.Context) *exec.Cmd { return p.any(ctx, stopAfter, args...) })
				var r result.Result
				if code == 0 {
					testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
				}
				return code, r, stderr
			}
			for _, stop := range []string{"", "sorted", "written:1", "written:4", "built", "loading"} {
				state := "s" + strings.ReplaceAll(stop, ":", "")
				more := append([]string{"--duplicates=last", "--duplicates-file=" + filepath.Join(p.state, state+".d.jsonl"), "--job-id=" + state, "--input=" + inputs[0], "--input=" + inputs[1]}, flags...)
				if stop != "" {
					if code, _, stderr := run(stop, state, more...); code != 128+9 {
						t.Fatalf("stopped after %s: exit code %d: %s", stop, code, stderr)
					}
				}
				code, r, stderr := run("", state, more...)
				if code != 0 {
					t.Fatalf("after %s: exit code %d: %s", stop, code, stderr)
				}
				m := r.Manifest
				for what, n := range map[string]int64{"f": m.Filtered, "d": m.Duplicates} {
					file := filepath.Join(p.state, state+"."+what+".jsonl")
					b, err := os.ReadFile(file)
					testcheck.Must(t, err)
					if lines := strings.Count(string(b), `"raw"`); int64(lines) != n || lines != map[string]int{"f": filtered, "d": duplicates}[what] || file != map[string]string{"f": m.FilteredFile, "d": m.DuplicatesFile}[what] {
						t.Errorf("after %s: %d lines in %s, the manifest has %d in %s and %s", stop, lines, file, n, m.FilteredFile, m.DuplicatesFile)
					}
					if stop == "" {
						files[what] = string(b)
					} else if string(b) != files[what] {
						t.Errorf("after %s the file of %s differs from that of a run that was not killed", stop, what)
					}
				}
				if kind == "into" {
					break // the old table is not the job's any more
				}
			}
			if kind != "run" {
				return
			}
			_, r, stderr := run("", "read", "--input=hbase:"+p.table, "--filter=id >= 'k1000'", "--job-id=read")
			b, err := os.ReadFile(filepath.Join(p.state, "read.f.jsonl"))
			if err != nil || r.Manifest.Filtered == 0 || int64(strings.Count(string(b), `"raw":"k0`)) != r.Manifest.Filtered {
				t.Errorf("%v, %s: %.300s", err, stderr, b)
			}
		})
	}
}
