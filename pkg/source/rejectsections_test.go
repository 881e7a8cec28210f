package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/formats/rejects"
	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
)

// TestRejectsKeepTheirPartitions rejects records of partition directories, corrects them in one file, and reads all columns again.
func TestRejectsKeepTheirPartitions(t *testing.T) {
	dirs := []string{"dt=.x/region=", "dt=2026-11-01/region=%E5%8D%8E", "dt=2026-11-01/region=a%2Fb%25", "dt=__HIVE_DEFAULT_PARTITION__/region=%FF"}
	for name, c := range map[string]struct {
		o          Options
		text       string // %d is the number of the directory
		edit, with string
	}{
		"csv":   {Options{}, "id,v\n%[1]da,x\n%[1]db\n%[1]dc\n", `"raw":"%[1]db"`, `"raw":"%[1]db,y\n%[1]dd,z"`},
		"dump":  {Options{Format: FormatDump, Columns: []string{"id", "v", "dt", "region"}}, "%[1]da\x01x\x10%[1]db\x10%[1]dc\x10", `"raw":"%[1]db"`, `"raw":"%[1]db\u0001y\u0010%[1]dd\u0001z"`},
		"json":  {Options{Format: FormatJSON, Columns: []string{"region", "id", "dt", "v"}}, `{"id":"%[1]da","v":"x"}` + "\n" + `{"id":"%[1]db" "v":"y"}` + "\n" + `{"id":"%[1]dc",}` + "\n", `{\"id\":\"%[1]db\" \"v\":\"y\"}`, `{\"id\":\"%[1]db\",\"v\":\"y\"}\n{\"id\":\"%[1]dd\",\"v\":\"z\"}`},
		"mysql": {Options{Dialect: dialectOf(t, "mysql", func(d *dialect.Dialect) { d.FieldSep = "@|@" }), Columns: []string{"id", "v", "dt", "region"}}, "%[1]da@|@x\n%[1]db\n%[1]dc\n", `"raw":"%[1]db"`, `"raw":"%[1]db@|@y\n%[1]dd@|@z"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			var want []map[string]any
			values := [][2]any{{".x", ""}, {"2026-11-01", "华"}, {"2026-11-01", "a/b%"}, {nil, "\xff"}}
			for i, dir := range dirs {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, dir, "part-0"), fmt.Appendf(nil, c.text, i), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, v := range []string{"by", "dz"} {
					want = append(want, map[string]any{"id": fmt.Sprint(i, v[:1])[:1] + v[:1], "v": v[1:], "dt": values[i][0], "region": values[i][1]})
				}
			}
			_, bad, path := rejected(t, c.o, root)
			data, err := os.ReadFile(path)
			if err != nil || len(bad) != 2*len(dirs) {
				t.Fatalf("%q, %v", bad, err)
			}
			text := string(data)
			for i := range dirs {
				edited := strings.Replace(text, fmt.Sprintf(c.edit, i), fmt.Sprintf(c.with, i), 1)
				if edited == text {
					t.Fatalf("no %s in %s", fmt.Sprintf(c.edit, i), text)
				}
				text = edited
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, chunk := range []int{0, 1, 30} {
				// Half of the records are corrected, and the others are bad again.
				var again []string
				f := NewRejectFile(filepath.Join(t.TempDir(), "again.jsonl"))
				o := Options{Format: FormatRejects, Columns: c.o.Columns, ChunkSize: chunk, Reject: func(e RowError) error {
					again = append(again, e.Reason)
					return f.Write(e)
				}}
				in, err := Open(t.Context(), disk, []string{path}, o)
				if err != nil {
					t.Fatal(err)
				}
				got, err := rowsOf(t, in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("chunks of %d (-want +got):\n%s\n%s", chunk, diff, text)
				}
				if n, err := f.Finish(); n != len(dirs) || err != nil {
					t.Fatalf("%q, %v", again, err)
				}
				data, err := os.ReadFile(f.Path())
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(data), rejects.Magic); n != len(dirs) || strings.Count(string(data), `"partitions":["dt=__HIVE_DEFAULT_PARTITION__","region=%FF"]`) != 1 {
					t.Errorf("%d forms in %s", n, data)
				}
			}
			for where, ok := range map[string]string{"region!=x": "", "dt=2026-11-01": "it has records that where dt=2026-11-01 leaves out", "day=1": "have no partition column of that name; they have \"dt\", \"region\""} {
				_, err := Open(t.Context(), disk, []string{path}, Options{Format: FormatRejects, Columns: c.o.Columns, Where: []string{where}})
				if ok == "" && err != nil || ok != "" && (err == nil || !strings.Contains(err.Error(), ok)) {
					t.Errorf("%s: %v", where, err)
				}
			}
		})
	}
}

// TestRejectsOfBadPartitions checks that forms with invalid partitions are refused.
func TestRejectsOfBadPartitions(t *testing.T) {
	for partitions, want := range map[string]string{
		`["dt"]`: "line 1: its partitions are not all name=value", `["dt=1","dt=2"]`: "have the same name", `["id=1"]`: "have the same name", `"dt=1"`: "a field is of another type",
	} {
		path := writeFile(t, "r.jsonl", []byte(`{"bulkload_rejects":1,"format":"csv","columns":["id"],"partitions":`+partitions+`}`+"\n"+`{"raw":"1"}`+"\n"))
		if _, err := Open(t.Context(), disk, []string{path}, Options{Format: FormatRejects}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", partitions, err, want)
		}
	}
}

// TestRejectsOfValuesKeepNull rejects all records of Parquet and Avro files, also of partition directories, and checks that they are read again
// unchanged: NULL, an empty text and the text \N are different.
func TestRejectsOfValuesKeepNull(t *testing.T) {
	for _, sample := range []string{"spark/parquet.parquet", "fastavro/null.avro", "spark/part-parquet"} {
		in, err := Open(t.Context(), disk, []string{exporterSamples + sample}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := rowsOf(t, in)
		if err != nil || len(want) < 36 {
			t.Fatalf("%s: %d rows, %v", sample, len(want), err)
		}
		f := NewRejectFile(filepath.Join(t.TempDir(), "rejects.jsonl"))
		r := in.NewReader()
		for split := range in.Splits() {
			err := r.Read(t.Context(), split, func(b *Batch) error {
				for row := range b.Rows {
					if err := f.Write(b.RowError(row)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n, err := f.Finish(); n != len(want) || err != nil {
			t.Fatal(n, err)
		}
		again, err := Open(t.Context(), disk, []string{f.Path()}, Options{Format: FormatRejects})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rowsOf(t, again)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", sample, err, diff)
		}
	}
}
