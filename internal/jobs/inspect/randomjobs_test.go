package inspect_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/race"
)

// TestEveryJobFileBuilds checks with random small CSV files that a job file of inspect gives the rows that were written, and that files without a job
// file have a doubt.
func TestEveryJobFileBuilds(t *testing.T) {
	n, sure := 250, 0
	if race.Reduced(t) {
		n = 60
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 17))
		text, want := drawCSV(r)
		path := filepath.Join(t.TempDir(), []string{"x.csv", "x.csv", "x.csv", "x.txt"}[r.IntN(4)])
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		report := look(t, path, spec.Spec{}, inspect.Options{})
		job := report.Job()
		if job == nil {
			if len(report.Doubts) == 0 {
				t.Errorf("seed %d: neither a job file nor a doubt: %q", seed, text)
			}
			continue
		}
		sure++
		rows, err := readJob(t, job, nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%q\n%s", seed, err, text, job)
		}
		s, err := spec.ParseSpec("job.yaml", job)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]string
		for _, row := range rows {
			values := []string{}
			for _, name := range s.Columns {
				v := "NULL"
				if row[name] != nil {
					v = fmt.Sprintf("%q", row[name])
				}
				values = append(values, v)
			}
			got = append(got, values)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seed %d: %v, want %v\n%q\n%s", seed, got, want, text, job)
		}
		builds(t, report, job)
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, text)
		}
	}
	t.Logf("%d of %d have job files", sure, n)
	if sure < n/2 {
		t.Errorf("%d of %d have job files", sure, n)
	}
}

// drawCSV returns a small CSV file of one of several writers, and its rows as quoted texts.
func drawCSV(r *rand.Rand) (text string, want [][]string) {
	cols, count := 2+r.IntN(4), 1+r.IntN(8)
	sep := []string{",", ";", "\t"}[r.IntN(3)]
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	style := r.IntN(4) // names, none, pandas' index, row names of R
	kinds := make([]int, cols)
	names := []string{}
	for c := range cols {
		kinds[c] = r.IntN(5)
		names = append(names, fmt.Sprintf("col_%c", 'a'+c))
	}
	var b strings.Builder
	quote := func(v string, always bool) string {
		if always || v == "" || strings.ContainsAny(v, sep+"\"\r\n") {
			return `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		return v
	}
	always := style == 3
	switch style {
	case 2:
		b.WriteString(strings.Join(append([]string{""}, names...), sep) + end)
	case 0:
		b.WriteString(strings.Join(names, sep) + end)
	case 3:
		b.WriteString(`""`)
		for _, name := range names {
			b.WriteString(sep + quote(name, true))
		}
		b.WriteString(end)
	}
	texts := []string{"Ann", "x y", "a,b", "a;b", `say "hi"`, "two\nlines", "é中", "", "7up", "it's"}
	for i := range count {
		var fields, row []string
		switch style {
		case 2:
			fields, row = append(fields, fmt.Sprint(i)), append(row, fmt.Sprintf("%q", fmt.Sprint(i)))
		case 3:
			fields, row = append(fields, fmt.Sprintf(`"%d"`, i+1)), append(row, fmt.Sprintf("%q", fmt.Sprint(i+1)))
		}
		for c := range cols {
			v := ""
			switch kinds[c] {
			case 0:
				v = fmt.Sprint(r.IntN(1000)*1000 + i)
			case 1:
				v = fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100))
			case 2:
				v = fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(12), 1+r.IntN(28))
			default:
				v = texts[r.IntN(len(texts))]
			}
			if r.IntN(6) == 0 {
				fields, row = append(fields, ""), append(row, "NULL")
				continue
			}
			fields, row = append(fields, quote(v, always && kinds[c] > 2)), append(row, fmt.Sprintf("%q", v))
		}
		b.WriteString(strings.Join(fields, sep) + end)
		want = append(want, row)
	}
	return b.String(), want
}
