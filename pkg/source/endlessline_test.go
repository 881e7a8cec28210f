package source

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestEndlessLine checks that a file of a GiB without a line end, such as an array of JSON, is refused, and that only a small part of it is read
// into memory: when its splits are planned, and when its last lines are left out.
func TestEndlessLine(t *testing.T) {
	hive := func(skipEnd int) *dialect.Dialect {
		return dialectOf(t, dialect.Hive, func(d *dialect.Dialect) { d.SkipEnd = skipEnd })
	}
	for name, tt := range map[string]struct {
		first string
		o     Options
		says  string
	}{
		"JSON":             {`{"a":"1"}` + "\n", Options{Format: FormatJSON, Columns: []string{"a"}}, "the line is longer than"},
		"without quotes":   {"1\x012\n", Options{Columns: []string{"a", "b"}, Dialect: hive(0)}, "longer than"},
		"CSV":              {"a,b\n1,2\n", Options{Format: FormatCSV}, "longer than"},
		"fixed columns":    {"ab\n", Options{Format: FormatFixed, Columns: []string{"a"}, Dialect: fixed(t, nil, "a=1-2")}, "bytes"},
		"without the last": {"1\x012\n", Options{Columns: []string{"a", "b"}, Dialect: hive(1)}, "the last line, which is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "endless")
			testcheck.Must(t, os.WriteFile(file, []byte(tt.first+strings.Repeat("x", 200<<10)), 0o600))
			testcheck.Must(t, os.Truncate(file, 1<<30)) // a hole: bytes 0
			tt.o.MaxRecord, tt.o.SplitSize = 1<<20, 8<<20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in, err := Open(t.Context(), disk, []string{file}, tt.o)
			if err == nil {
				_, err = readAll(t.Context(), in)
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
	endless := io.LimitReader(zeros{}, 1<<30)
	if _, err := io.Copy(io.Discard, &withoutLastLines{r: endless, n: 2, most: 1 << 20}); err == nil || !strings.Contains(err.Error(), "the last 2 lines, which are left out") {
		t.Errorf("a stream: %v", err)
	}
}

// zeros is a stream of bytes 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
