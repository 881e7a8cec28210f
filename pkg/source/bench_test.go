package source

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var checkColumns = strings.Fields("id check_id rule_no index_value rule_type hit_condition rule_desc hit_ind artificial_ver_result cause_code opinin create_by create_date update_by update_date remarks del_flag trunc_no")

// checkRows returns records like those of the check table: short fields, many empty, Chinese free text with commas, quotes and line feeds.
func checkRows(n int) [][]string {
	phrases := []string{"客户本人已核实", "收入证明不足", "age < 22 or age > 55", "手机号实名认证通过", "资料不全，退回补件", "n/a", "系统自动通过", "overdue_days > 30"}
	joints := []string{"；", " ", "\n", ", ", "\""}
	state := uint64(7)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	phrase := func(most int) string {
		var b strings.Builder
		for i := next(most + 1); i > 0; i-- {
			b.WriteString(phrases[next(len(phrases))])
			if i > 1 {
				b.WriteString(joints[next(len(joints))])
			}
		}
		return b.String()
	}
	rows := make([][]string, n)
	for i := range rows {
		digits := func(n int) string { return fmt.Sprintf("%09d", next(1e9))[:n] }
		id := fmt.Sprintf("%016X%016X", state*31, state)
		date := func() string {
			return fmt.Sprintf("2017-%02d-%02d %02d:%02d:%02d", 1+next(12), 1+next(28), next(24), next(60), next(60))
		}
		rows[i] = []string{id, fmt.Sprintf("A%022d", i/15*7919), "R" + digits(4), digits(next(4)), "B", phrase(2), phrase(4), "Y",
			[]string{"", "", "PASS", "REJECT"}[next(4)], []string{"", "", "C01", "C17"}[next(4)], []string{"", "", "", phrase(1)}[next(4)],
			"u" + digits(5), date(), "u" + digits(5), date(), []string{"", "", "", phrase(1)}[next(4)], "0", digits(4)}
	}
	return rows
}

func toDump(rows [][]string) []byte {
	var b bytes.Buffer
	for _, r := range rows {
		b.WriteString(strings.Join(r, "\x01"))
		b.WriteByte(0x10)
	}
	return b.Bytes()
}

func toCSV(rows ...[]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		panic(err) // a buffer never fails
	}
	return b.Bytes()
}

const benchRows = 100_000

// processor returns the processor time of the process so far, in seconds.
func processor(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// benchmark reads a file with text bytes of text, one split after the other, on one core. cpu-MB/s is per processor time, on which other programs
// have less effect.
func benchmark(b *testing.B, path string, o Options, text int64) {
	in, err := Open(b.Context(), disk, []string{path}, o)
	if err != nil {
		b.Fatal(err)
	}
	r := in.NewReader()
	b.SetBytes(text)
	b.ReportAllocs()
	before := processor(b)
	for b.Loop() {
		rows := 0
		for i := range in.Splits() {
			if err := r.Read(b.Context(), i, func(batch *Batch) error {
				rows += batch.Rows
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
		if rows != benchRows {
			b.Fatalf("%d rows", rows)
		}
	}
	b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(b.N)*float64(text)/1e6/(processor(b)-before), "cpu-MB/s")
}

func BenchmarkDump(b *testing.B) {
	data := toDump(checkRows(benchRows))
	benchmark(b, writeFile(b, "check.dump", data), Options{Columns: checkColumns}, int64(len(data)))
}

func BenchmarkCSV(b *testing.B) {
	data := toCSV(append([][]string{checkColumns}, checkRows(benchRows)...)...)
	path := writeFile(b, "check.csv", data)
	b.Run("source", func(b *testing.B) { benchmark(b, path, Options{}, int64(len(data))) })
	// The standard library's reader on the same file, to compare.
	b.Run("stdlib", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			r := csv.NewReader(f)
			r.ReuseRecord = true
			rows := -1
			for ; err == nil; rows++ {
				_, err = r.Read()
			}
			if err != io.EOF || rows != benchRows+1 {
				b.Fatal(err, rows)
			}
			f.Close()
		}
		b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkPlanCSV measures the search for the records of a file before it is read.
func BenchmarkPlanCSV(b *testing.B) {
	data := toCSV(append([][]string{checkColumns}, checkRows(benchRows)...)...)
	path := writeFile(b, "check.csv", data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		in, err := Open(b.Context(), disk, []string{path}, Options{SplitSize: 1 << 20})
		if err != nil {
			b.Fatal(err)
		}
		if len(in.Splits()) < 10 {
			b.Fatal("the file was not cut")
		}
	}
}

func BenchmarkParquet(b *testing.B) {
	rows := checkRows(benchRows)
	path := filepath.Join(b.TempDir(), "check.parquet")
	writeParquet(b, path, checkColumns, rows, 50_000)
	text := int64(len(toDump(rows)))
	b.Run("all", func(b *testing.B) { benchmark(b, path, Options{}, text) })
	b.Run("reversed", func(b *testing.B) {
		columns := slices.Clone(checkColumns)
		slices.Reverse(columns)
		benchmark(b, path, Options{Columns: columns}, text)
	})
	b.Run("5 of 18", func(b *testing.B) {
		benchmark(b, path, Options{Columns: []string{"update_date", "id", "rule_no", "hit_ind", "create_by"}}, text)
	})
}
