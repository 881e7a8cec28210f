package share

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
)

// TestNewKeys checks that shares and a merge of a plan with new keys make the files of one process, only from the text of the plan, for a table with
// empty regions and for one without rows, and for all cells and some. A region has one part.
func TestNewKeys(t *testing.T) {
	some := choice.Choice{Ranges: []keyrange.Range{{Start: []byte("e"), Stop: []byte("k0")}, {Start: []byte("n")}}, Columns: []choice.Column{{Family: "g"}}, Until: 3}
	for _, c := range []struct {
		rows   int
		choice choice.Choice
	}{{rows: 0}, {rows: 1}, {rows: 2000}, {2000, some}} {
		rows := c.rows
		t.Run(fmt.Sprintf("%d rows of %d ranges", rows, len(c.choice.Ranges)), func(t *testing.T) {
			l := testsnapshot.New(t, testsnapshot.Options{FS: hdfsio.Local{}, Root: t.TempDir(), Table: "n:old", Snapshot: "s", Families: []string{"f", "g"}, Splits: []string{"c", "m", "x"}})
			var cells []hfile.Cell
			for i := range rows {
				row := fmt.Sprintf("%c%05d-%d", 'd'+i%17, i, i*7)
				cells = append(cells, testsnapshot.Put(row, "f", "q", 1, fmt.Sprint(i)), testsnapshot.Put(row, "g", fmt.Sprint("q", i%300), 2, "v"))
			}
			if rows > 0 {
				l.Load(1, cells...)
			}
			l.Save()
			env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
			env.Conf.Set("hbase.rootdir", "file://"+l.Root, "test")
			snap, err := snapshot.Open(t.Context(), l.FS, l.Root, "s")
			testcheck.Must(t, err)
			key, err := keygen.Parse("n + a")
			testcheck.Must(t, err)
			old, err := keygen.Parse("a + '-' + n")
			testcheck.Must(t, err)
			ranges, err := partition.New([][]byte{[]byte("3"), []byte("8")})
			testcheck.Must(t, err)
			one := &newkeys.Plan{Table: "n:new", Key: key, OldKey: old, Ranges: ranges, Now: time.UnixMilli(5000), Choice: c.choice}
			for _, f := range []string{"f", "g"} {
				one.Families = append(one.Families, spec.Family{Name: f, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow, BlockSize: 4096})
			}
			dir := t.TempDir()
			want, err := newkeys.Build(t.Context(), snap, one, build.Output{FS: hdfsio.Local{}, Dir: filepath.Join(dir, "one")}, newkeys.Options{}, nil)
			testcheck.Must(t, err)

			_, err = tablesource.Mount(t.Context(), env, []string{"snapshot:s"}, tablesource.ByFiles, c.choice, nil)
			testcheck.Must(t, err)
			staging := filepath.Join(dir, "staging")
			p, err := MakeRekey(t.Context(), env, spec.Spec{Inputs: []string{"snapshot:s"}}, snap, one, staging, build.WorkOptions{})
			testcheck.Must(t, err)
			_, err = p.Write(t.Context(), env, filepath.Join(dir, "plan"), false)
			testcheck.Must(t, err)
			for k := 1; k <= 2; k++ {
				_, err := Build(t.Context(), env, read(t, env, dir), Fraction{k, 2}, filepath.Join(dir, "rows"), build.WorkOptions{})
				testcheck.Must(t, err)
			}
			_, err = Merge(t.Context(), env, read(t, env, dir), filepath.Join(dir, "rows"), staging, Fraction{1, 1}, build.WorkOptions{})
			testcheck.Must(t, err)
			got, err := MergedFiles(t.Context(), hdfsio.Local{}, staging, p.Checksum)
			testcheck.Must(t, err)
			if got.RowSum != want.RowSum || len(c.choice.Ranges) == 0 && got.Records != int64(rows) || got.Records != want.Records || got.Digest != want.Digest || got.Key != "n + a" || len(got.Files) != len(want.Files) {
				t.Errorf("%+v\nwant\n%+v", got, want)
			}
			for _, f := range want.Files {
				a, err := os.ReadFile(filepath.Join(dir, "one", f.Name))
				testcheck.Must(t, err)
				b, err := os.ReadFile(filepath.Join(staging, f.Name))
				testcheck.Must(t, err)
				if !bytes.Equal(a, b) {
					t.Errorf("%s is another file", f.Name)
				}
			}
		})
	}
}

// read reads a plan as another process does.
func read(t *testing.T, env *cluster.Env, dir string) *Plan {
	t.Helper()
	p, err := Read(t.Context(), env, filepath.Join(dir, "plan"))
	testcheck.Must(t, err)
	testcheck.Must(t, p.Mount(t.Context(), env))
	return p
}
