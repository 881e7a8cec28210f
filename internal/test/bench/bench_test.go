package bench

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want Summary
	}{
		{nil, Summary{}}, {[]float64{4}, Summary{4, 4, 4}}, {[]float64{3, 1}, Summary{1, 2, 3}},
		{[]float64{5, 1, 2}, Summary{1, 2, 5}}, {[]float64{4, 1, 3, 2}, Summary{1, 2.5, 4}},
	} {
		before := slices.Clone(c.in)
		if got := summarize(c.in); got != c.want {
			t.Errorf("%v: %v, not %v", c.in, got, c.want)
		}
		if !slices.Equal(before, c.in) {
			t.Errorf("%v became %v", before, c.in)
		}
	}
}

func TestSummaryIsInOrder(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), 1, 20).Draw(t, "values")
		s := summarize(values)
		below, above := 0, 0
		for _, v := range values {
			if v < s.Min || v > s.Max {
				t.Fatalf("%v is outside %v", v, s)
			}
			if v <= s.Median {
				below++
			}
			if v >= s.Median {
				above++
			}
		}
		if 2*below < len(values) || 2*above < len(values) {
			t.Fatalf("%v is not a median of %v", s.Median, values)
		}
	})
}

func TestRatio(t *testing.T) {
	// Medians 3 and 2; rounds 1/2, 3/1, 9/4.
	if got, want := ratioOf([]float64{1, 3, 9}, []float64{2, 1, 4}), (Summary{0.5, 1.5, 3}); got != want {
		t.Errorf("%v, not %v", got, want)
	}
	for _, none := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{1}, {0}}, {{0}, {0}}} {
		if got := ratioOf(none[0], none[1]); got != (Summary{}) {
			t.Errorf("%v: %v", none, got)
		}
	}
}

func TestUsageOf(t *testing.T) {
	ru := &syscall.Rusage{Utime: syscall.Timeval{Sec: 2, Usec: 500000}, Stime: syscall.Timeval{Usec: 250}, Maxrss: 3}
	u := usageOf(4*time.Second, ru)
	want := Usage{Wall: 4 * time.Second, User: 2500 * time.Millisecond, Sys: 250 * time.Microsecond, PeakRSS: 3072}
	if u != want || u.CPU() != 2500250*time.Microsecond {
		t.Errorf("%+v, not %+v", u, want)
	}
	v := Usage{Wall: 1, User: 2, Sys: 3, PeakRSS: 9000, Hidden: 7}
	if got := u.then(v); got != (Usage{u.Wall + 1, u.User + 2, u.Sys + 3, 9000, 7}) {
		t.Errorf("one after the other: %+v", got)
	}
}

func TestRunMeasuresTheChild(t *testing.T) {
	// A grandchild counts too, once it was waited for.
	out, u, err := command{argv: []string{"/bin/sh", "-c", `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo done`}}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != "done\n" || u.CPU() <= 0 || u.Wall <= 0 || u.PeakRSS <= 0 {
		t.Errorf("%q, %+v", out, u)
	}
	_, _, err = command{argv: []string{"/bin/sh", "-c", "echo what went wrong >&2; exit 3"}}.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "what went wrong") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error of a command that fails: %v", err)
	}
}

// TestPeakIsTheChilds checks that earlier memory of this process does not count as the child's.
func TestPeakIsTheChilds(t *testing.T) {
	const much = 256 << 20
	ballast := make([]byte, much)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	if ownPeak() < much {
		t.Skip("this kernel does not report peaks")
	}
	ballast = nil
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if kibField(status, "VmRSS:") >= much {
		t.Skip("the race detector keeps the memory")
	}
	_, u, err := command{argv: []string{"/bin/true"}}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u.PeakRSS >= much || u.Hidden >= much || u.Hidden == 0 {
		t.Errorf("a program that does nothing had a peak of %d MiB, %d of them not its own", u.PeakRSS>>20, u.Hidden>>20)
	}
}

func TestKibField(t *testing.T) {
	status := "Name:\tx\nVmPeak:\t  20 kB\nVmHWM:\t   123 kB\n"
	if got := kibField([]byte(status), "VmHWM:"); got != 123<<10 {
		t.Errorf("%d", got)
	}
	if got := kibField([]byte(status), "VmSwap:"); got != 0 {
		t.Errorf("%d for a field that is not there", got)
	}
}

// fake returns a tool whose runs take the given times, beginning with round 0.
func fake(name string, rows int64, order *[]string, walls ...time.Duration) Tool {
	return Tool{Name: name, Rows: rows, Run: func(_ context.Context, round int) (Sample, error) {
		*order = append(*order, name)
		w := walls[round]
		return Sample{Usage: Usage{Wall: w, User: w / 2, PeakRSS: 1 << 20}, Detail: map[string]float64{"round": float64(round)}}, nil
	}}
}

func TestMeasure(t *testing.T) {
	var order []string
	cold := fake("b", 30, &order, 0, 30, 90)
	cold.Cold = true
	c := Case{Name: "x", Title: "y", Reference: "a", PerRow: true, Rounds: 2, Tools: []Tool{fake("a", 10, &order, 1000, 10, 20), cold}}
	r, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "a a b b a" {
		t.Errorf("order %s", got)
	}
	a, b := r.Tools[0], r.Tools[1]
	if len(a.Measured) != 2 || len(b.Measured) != 2 || a.Wall.Max != 20e-9 || a.Ratio != nil {
		t.Errorf("the round that warms up counts, or the reference has a ratio: %+v", a)
	}
	// A row takes 1 and 2 with a, 1 and 3 with b.
	if got := b.Ratio.Wall; got.Min < 0.999 || got.Min > 1.001 || got.Max < 1.499 || got.Max > 1.501 || got.Median < 1.333 || got.Median > 1.334 {
		t.Errorf("ratio a row %+v", got)
	}
	if got := b.Ratio.Peak; got != (Summary{1, 1, 1}) {
		t.Errorf("memory is not compared a row: %+v", got)
	}
	if b.Detail["round"] != 1.5 {
		t.Errorf("details %v", b.Detail)
	}
	broken := errors.New("broken")
	c.Tools[1].Run = func(context.Context, int) (Sample, error) { return Sample{}, broken }
	if _, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "case x, b, round 1") {
		t.Errorf("error of a tool: %v", err)
	}
}

// TestMeasureWarm checks that rounds that warm up do not count, whatever their number.
func TestMeasureWarm(t *testing.T) {
	var order []string
	c := Case{Name: "x", Title: "y", Rounds: 2, WarmRounds: 3, Tools: []Tool{fake("a", 10, &order, 1000, 1000, 1000, 10, 20)}}
	r, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil || len(order) != 5 || r.Rounds != 2 || len(r.Tools[0].Measured) != 2 || r.Tools[0].Wall.Max != 20e-9 {
		t.Errorf("%d runs, %+v, %v", len(order), r, err)
	}
}

func TestReportFiles(t *testing.T) {
	var order []string
	c := Case{Name: "build", Title: "what", Reference: "a", Rounds: 1, Notes: []string{"a note"},
		Tools: []Tool{fake("a", 1234567, &order, 0, 2*time.Second), fake("b", 5, &order, 0, 3*time.Second)}}
	cr, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cr.Took = 0
	r := &Report{Schema: 1, Machine: LookAtMachine(t.Context(), "../../.."), Started: time.Unix(1500000000, 0).UTC()}
	r.Add(cr)
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	back := &Report{}
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("result.json is another report:\n%s", diff)
	}
	if r.Machine.Cores == 0 || r.Machine.Memory == 0 || r.Machine.Kernel == "" || r.Machine.Go == "" {
		t.Errorf("machine %+v", r.Machine)
	}
	want := `## build: what

Minimum / **median** / maximum of 1 rounds; ratios are of the medians, in brackets the least and the greatest of a round.

| tool | rows | wall s | CPU s | peak MiB | wall ÷ a | CPU ÷ | peak ÷ |
|---|---:|---:|---:|---:|---:|---:|---:|
| a | 1,234,567 | 2.00 / **2.00** / 2.00 | 1.00 / **1.00** / 1.00 | 1 / **1** / 1 | 1 | 1 | 1 |
| b | 5 | 3.00 / **3.00** / 3.00 | 1.50 / **1.50** / 1.50 | 1 / **1** / 1 | **1.50** (1.50–1.50) | **1.50** (1.50–1.50) | **1.00** (1.00–1.00) |

Medians of what the tools report of themselves:

| tool | round |
|---|---:|
| a | 1 |
| b | 1 |

- a note
`
	if diff := cmp.Diff(want, cr.Markdown()); diff != "" {
		t.Error(diff)
	}
	md, err := os.ReadFile(filepath.Join(dir, "result.md"))
	if err != nil || !strings.HasSuffix(string(md), want) {
		t.Errorf("result.md: %v\n%s", err, md)
	}
}

// TestBuildCase measures a few rows with the real programs.
func TestBuildCase(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	lab, err := NewLab(Config{Root: root, Dir: t.TempDir(), Rows: 500, Rounds: 1, Touch: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), CaseBuild)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		if tool.Wall.Median <= 0 || tool.CPU.Median <= 0 || tool.Peak.Median <= 0 {
			t.Errorf("%s: nothing measured: %+v", tool.Name, tool)
		}
		if tool.Name != "floor" && tool.Detail["HFiles MiB"] <= 0 {
			t.Errorf("%s says nothing of itself: %v", tool.Name, tool.Detail)
		}
	}
	if n := len(r.Tools); n < 3 {
		t.Errorf("%d tools", n)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{"no root": {}, "peer": {Root: "x", Peers: []string{"hive"}}, "rows": {Root: "x", Rows: -1}} {
		if _, err := NewLab(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := CheckCases([]string{"build", "bulid"}); err == nil || !strings.Contains(err.Error(), `"bulid"`) {
		t.Errorf("a case that is none: %v", err)
	}
}

func TestNoFloor(t *testing.T) {
	lab, err := NewLab(Config{Root: filepath.Join(t.TempDir(), "checkout"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.floor(t.Context()); !errors.Is(err, ErrNoFloor) {
		t.Errorf("%v", err)
	}
}
