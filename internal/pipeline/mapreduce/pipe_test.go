package mapreduce

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// piped is a job whose tasks are run one by one, with a sort between them in place of the shuffle.
type piped struct {
	*testing.T
	dir  string // of the job
	work *Work
}

// newPiped plans a job into a directory of local files.
func newPiped(t *testing.T, s spec.Spec, points [][]byte, maps, reduces int) *piped {
	t.Helper()
	return newPipedTables(t, pipedJob{spec: s, shapes: shapesOf(points)}, maps, reduces)
}

// shapesOf returns the shape of one table.
func shapesOf(points [][]byte) []build.Shape {
	return []build.Shape{{Families: []spec.Family{jobtest.Family}, Splits: points}}
}

// newPipedTables is newPiped for several tables.
func newPipedTables(t *testing.T, j pipedJob, maps, reduces int) *piped {
	t.Helper()
	plan, err := share.Make(t.Context(), j.env(t), jobtest.Resolve(t, j.spec), j.shapes, build.WorkOptions{SplitSize: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	p := &piped{T: t, dir: t.TempDir()}
	p.work = cutWork(plan, maps, reduces, Container{Memory: MinMemory, Heap: mapHeap}, Container{Memory: MinMemory, Heap: reduceHeap}, 2)
	p.work.Tag, p.work.Dir, p.work.Samples, p.work.Filtered = "test", "file://"+p.dir, 3, j.spec.Filter != ""
	b, err := share.Seal(p.work, &p.work.Checksum)
	if err != nil {
		t.Fatal(err)
	}
	site := fmt.Sprintf("<configuration><property><name>%s</name><value>%s</value></property></configuration>", cluster.RootDirKey, j.root)
	for name, text := range map[string][]byte{WorkName: b, streaming.JobFile: []byte(site)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{errorsName, mapsName, outName} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// attempt runs one attempt; its output is where the committer finds it.
func (p *piped) attempt(kind string, number, try int, in []byte) (out []byte, dir string, err error) {
	p.Helper()
	id := fmt.Sprintf("attempt_1700000000000_0001_%s_%06d_%d", kind, number, try)
	dir = filepath.Join(p.dir, outName, "_temporary", id)
	vars := map[string]string{
		"mapreduce_task_attempt_id": id, "mapreduce_task_partition": fmt.Sprint(number), "mapreduce_job_reduces": fmt.Sprint(len(p.work.Reduces)),
		"mapreduce_task_output_dir": "file://" + dir, "mapreduce_output_fileoutputformat_outputdir": "file://" + filepath.Join(p.dir, outName),
		"LOCAL_DIRS": p.TempDir(), "mapreduce_job_user_name": "etl",
	}
	var records, said bytes.Buffer
	process := Process{Env: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Dir: p.dir, In: bytes.NewReader(in), Out: &records, Err: &said, Log: slog.New(slog.DiscardHandler)}
	if kind == "m" {
		err = process.Map(p.Context())
	} else {
		err = process.Reduce(p.Context())
	}
	if err == nil && !strings.Contains(said.String(), "reporter:status:write: ") {
		p.Errorf("%s says %q", id, said.String())
	}
	return records.Bytes(), dir, err
}

// commit moves the files of an attempt into the output.
func (p *piped) commit(dir string) {
	p.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		to := filepath.Join(p.dir, outName, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return os.Rename(name, to)
	})
	if err != nil {
		p.Fatal(err)
	}
}

// record is a record of the shuffle.
type record struct{ key, value []byte }

// run runs all tasks.
func (p *piped) run() error {
	p.Helper()
	var all []record
	for i, line := range strings.Split(strings.TrimSpace(string(p.work.items())), "\n") {
		out, _, err := p.attempt("m", i, 0, []byte(line+"\n"))
		if err != nil {
			return err
		}
		r := chunk.NewFrameReader(bytes.NewReader(out), "the map's output")
		for {
			k, v, err := r.Next(nil, nil)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				p.Fatal(err)
			}
			all = append(all, record{k, v})
		}
	}
	slices.Reverse(all) // records with the same key are in any order
	slices.SortStableFunc(all, func(a, b record) int { return bytes.Compare(a.key, b.key) })
	keys := p.work.partitionKeys()
	for i := range p.work.Reduces {
		var in bytes.Buffer
		w := chunk.NewFrameWriter(&in)
		for _, r := range all {
			// As in Hadoop's partitioner, a key that equals a boundary belongs to the range after it.
			to, exact := slices.BinarySearchFunc(keys, r.key, bytes.Compare)
			if exact {
				to++
			}
			if to == i {
				if err := w.Chunk(r.key, r.value); err != nil {
					p.Fatal(err)
				}
			}
		}
		_, dir, err := p.attempt("r", i, 0, in.Bytes())
		if err != nil {
			return err
		}
		p.commit(dir)
	}
	return nil
}

// pipedJob is a job with the shapes of its tables.
type pipedJob struct {
	spec   spec.Spec
	shapes []build.Shape
	root   string // HBase's, with the snapshot s, if tables are read
}

// pipedJobs returns jobs with one table and with several.
func pipedJobs(t *testing.T) map[string]pipedJob {
	t.Helper()
	jobs := map[string]pipedJob{}
	for _, table := range []string{"check", "opinion"} {
		s := jobtest.Spec(t, table)
		s.Inputs, s.Timestamp = []string{jobtest.Export(t, table+".csv")}, 1700000000000
		jobs[table] = pipedJob{spec: s, shapes: shapesOf(partition.SaltSplits(10))}
	}
	s := jobs["opinion"].spec
	s.Table, s.Tables = "ns:opinion", []spec.TableSpec{
		{Index: "by_date", Table: "by_date", Key: `create_date + "|" + id`, Covers: []string{"business_type"}},
		{Table: "narrow", Key: "id", Columns: []string{"buss_no", "remarks"}, Family: "g"},
		{Table: "ns:families", Key: `current_queue + "|" + id`, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "id"}, {Rest: true, Family: "y"}}}},
	}
	shapes := shapesOf(partition.SaltSplits(5))
	for _, x := range jobtest.Resolve(t, s).Targets()[1:] {
		points := map[string][][]byte{"by_date": {[]byte("2014"), []byte("2016")}, "narrow": {[]byte("8")}}[x.Table]
		shapes = append(shapes, build.Shape{Families: spec.DefaultFamilies(x.Families()), Splits: points})
	}
	jobs["several tables"] = pipedJob{spec: s, shapes: shapes}
	jobs["a table"] = pipedTable(t)
	return jobs
}

// TestTasksGiveTheSameFiles checks that maps, a sort by key and reduces give byte for byte the files of one build, for each table, and that
// adopting them twice has the same result as once.
func TestTasksGiveTheSameFiles(t *testing.T) {
	for name, j := range pipedJobs(t) {
		for _, c := range []struct{ maps, reduces int }{{1, 1}, {3, 2}, {5, 7}} {
			t.Run(fmt.Sprintf("%s, %d maps, %d reduces", name, c.maps, c.reduces), func(t *testing.T) {
				whole := t.TempDir()
				want, err := build.Directories(t.Context(), j.env(t), jobtest.Resolve(t, j.spec), j.shapes, whole, build.WorkOptions{})
				if err != nil {
					t.Fatal(err)
				}
				p := newPipedTables(t, j, c.maps, c.reduces)
				if err := p.run(); err != nil {
					t.Fatal(err)
				}
				staging := t.TempDir()
				for range 2 {
					a, err := Adopt(t.Context(), p.dir, p.work, build.Output{FS: hdfsio.Local{}, Dir: staging, FileMode: 0o666, DirMode: 0o777}, "", "")
					if err != nil {
						t.Fatal(err)
					}
					p.holds(a, want)
				}
				for _, x := range jobtest.Resolve(t, j.spec).Targets() {
					if err := os.Remove(filepath.Join(staging, x.Dir, build.WritingDir)); err != nil {
						t.Error(err)
					}
					if got, want := fmt.Sprint(jobtest.Hashes(t, filepath.Join(staging, x.Dir))), fmt.Sprint(jobtest.Hashes(t, filepath.Join(whole, x.Dir))); got != want {
						t.Errorf("table %s: files %s, one build has %s", x.Table, got, want)
					}
				}
			})
		}
	}
}

// holds compares the adopted files, and the manifests made from the journal's records, with the manifests of one build.
func (p *piped) holds(a *Adopted, want []*manifest.Manifest) {
	p.Helper()
	job, plans, err := p.work.Plan.Resolve(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	done := build.NewDone()
	for _, r := range a.Regions {
		done.Write(r)
	}
	done.Built, done.BuiltTables = a.Manifests[0].Summary(), nil
	for _, m := range a.Manifests[1:] {
		done.BuiltTables = append(done.BuiltTables, m.Summary())
	}
	again, err := (&build.Resume{Done: &done}).Manifests(build.Output{}.Tables(job, plans))
	if err != nil || len(again) != len(want) || len(a.Manifests) != len(want) {
		p.Fatalf("%d and %d manifests, one build has %d: %v", len(a.Manifests), len(again), len(want), err)
	}
	for i, w := range want {
		for what, m := range map[string]*manifest.Manifest{"adopted": a.Manifests[i], "by the records": again[i]} {
			if m.Table != w.Table || m.Digest != w.Digest || m.Records != w.Records || len(m.Files) != len(w.Files) || len(m.Samples) == 0 {
				p.Errorf("%s: %+v, one build has %+v", what, m, w)
			}
		}
	}
}

// bad writes records, some of them bad, and with twice a key that occurs in two shares.
func bad(t *testing.T, twice bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,name\n")
	for i := range 9000 {
		switch {
		case i%1000 == 999:
			fmt.Fprintf(&b, ",no key %d\n", i)
		case twice && i == 8990:
			b.WriteString("k00007,again\n")
		default:
			fmt.Fprintf(&b, "k%05d,name %d\n", i, i)
		}
	}
	name := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBadRecordsOfAllMaps checks that the bad records of all maps count against one budget, and are in one file in the order of the input,
// as are the filtered records.
func TestBadRecordsOfAllMaps(t *testing.T) {
	s := jobtest.CSVSpec(bad(t, false))
	s.BadRecords, s.Filter = "1%", "id not like 'k%77'"
	p := newPiped(t, s, [][]byte{[]byte("k04")}, 3, 2)
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	rejects, filtered := filepath.Join(t.TempDir(), "rejects.jsonl"), filepath.Join(t.TempDir(), "filtered.jsonl")
	out := build.Output{FS: hdfsio.Local{}, Dir: t.TempDir()}
	a, err := Adopt(t.Context(), p.dir, p.work, out, rejects, filtered)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(rejects)
	if err != nil || a.Manifests[0].Rejected != 9 || a.Manifests[0].RejectFile != rejects || strings.Count(string(b), `"raw"`) != 9 {
		t.Errorf("%+v, %v: %s", a.Manifests[0], err, b)
	}
	if first, last := strings.Index(string(b), "no key 999"), strings.Index(string(b), "no key 8999"); first < 0 || last < first {
		t.Errorf("not in order: %s", b)
	}
	b, err = os.ReadFile(filtered)
	if err != nil || a.Manifests[0].Filtered != 90 || a.Manifests[0].FilteredFile != filtered || strings.Count(string(b), `"raw"`) != 90 {
		t.Errorf("%+v, %v: %s", a.Manifests[0], err, b)
	}
	if first, last := strings.Index(string(b), `"k00077,`), strings.Index(string(b), `"k08977,`); first < 0 || last < first {
		t.Errorf("not in order: %s", b)
	}
	p.work.Plan.Job.BadRecords = "8"
	if _, err := Adopt(t.Context(), p.dir, p.work, out, rejects, filtered); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), rejects) {
		t.Errorf("more than the budget: %v", err)
	}
}

// TestPermanentErrors checks that an error that another attempt would get again is recorded, and ends every later attempt at once.
func TestPermanentErrors(t *testing.T) {
	for name, c := range map[string]struct {
		twice bool
		want  string
	}{"a duplicate between maps": {true, "at offset"}, "a bad record": {false, "000 at byte"}} {
		t.Run(name, func(t *testing.T) {
			s := jobtest.CSVSpec(bad(t, c.twice))
			if c.twice {
				s.BadRecords = "100"
			}
			p := newPiped(t, s, [][]byte{[]byte("k04")}, 2, 2)
			err := p.run()
			if fail.KindOf(err) != fail.BadRows {
				t.Fatalf("the tasks end with %v", err)
			}
			all, err := verdicts(t.Context(), hdfsio.Local{}, filepath.Join(p.dir, errorsName), nil)
			if err != nil || len(all) != 1 || firstPermanent(all) == nil || fail.KindOf(all[0].err()) != fail.BadRows || !strings.Contains(all[0].Error, c.want) {
				t.Fatalf("%d verdicts, %v: %+v", len(all), err, all[0])
			}
			if _, _, err := p.attempt("m", 1, 1, []byte("2/2\n")); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "cannot succeed any more") {
				t.Errorf("a later attempt: %v", err)
			}
		})
	}
}

// TestTasksRefuse checks that tasks refuse files that do not belong to the job.
func TestTasksRefuse(t *testing.T) {
	p := newPiped(t, jobtest.CSVSpec(bad(t, false)), [][]byte{[]byte("k04")}, 2, 2)
	for what, in := range map[string]string{"nothing": "", "another number": "1/3\n", "two": "1/2\n2/2\n", "no share": "x\n"} {
		if _, _, err := p.attempt("m", 0, 0, []byte(in)); err == nil {
			t.Errorf("%s on standard input is work", what)
		}
		if err := os.RemoveAll(filepath.Join(p.dir, errorsName)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(p.dir, errorsName), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.attempt("r", 0, 0, []byte{0, 0, 0}); err == nil {
		t.Error("a torn record is work")
	}
}
