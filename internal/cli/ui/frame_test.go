package ui

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/progress"
)

// someProgress returns a run in the middle of its second pass.
func someProgress() progress.Progress {
	at := func(s float64) time.Time {
		return time.Date(2017, 10, 12, 3, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
	}
	return progress.Progress{
		Start: progress.Start{Table: "check", Attempt: 1, Staging: "hdfs:///tmp/x", Regions: 10, Phases: []string{"read", "sort", "write", "snapshot", "load", "verify"}},
		Began: at(0), At: at(3725), Warnings: 2,
		Phases: []progress.PhaseProgress{
			{Name: "read", Began: at(0), Ended: at(1800), Done: progress.Amount{Rows: 999_600_000, Bytes: 1023 << 30}},
			{Name: "sort", Began: at(1800), Ended: at(1805.25)},
			{Name: "write", Began: at(1805.25), Done: progress.Amount{Rows: 629_000_123, Bytes: 98 << 30}, Total: progress.Amount{Rows: 999_600_000},
				Recent: progress.Span{Took: 600 * time.Second, Done: progress.Amount{Rows: 300_000_000, Bytes: 31_400_000_000}}},
		},
		Written: 98 << 30, HFiles: progress.Amount{Files: 12_345, Rows: 600_000_000, Bytes: 97 << 30},
		Left: progress.Left{Phase: 1132 * time.Second, Job: 7324 * time.Second, PhaseKnown: true, JobKnown: true},
	}
}

// TestFrameOfTasks checks that a job on YARN has a row for its tasks, above that of the job, if there is space.
func TestFrameOfTasks(t *testing.T) {
	p := someProgress()
	p.Tasks = progress.Tasks{Application: "application_1_0001", Maps: 200, MapsDone: 12, MapsRunning: 2, Reduces: 100, Failed: 3}
	for height, want := range map[int]string{24: "yarn     12 of 200 maps done, 2 run; 0 of 100 reduces done; 3 attempts failed", 4: ""} {
		f := frame{progress: p, width: 100, height: height}
		rows := f.rows()
		if got := rows[len(rows)-2]; (got == want) != (want != "") || len(rows) > height || !strings.HasPrefix(rows[len(rows)-1], "job ") {
			t.Errorf("height %d: %q", height, rows)
		}
	}
}

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		width int
		ended bool
		want  string
	}{
		{80, false, `
read     done                1.00 G rows  1023.0 GiB      555 k/s         30:00
sort     done                                                             5.2 s
write     63%  [====>    ]    629 M rows                  500 k/s    18:52 left
upload                      12.3 k files    98.0 GiB   49.9 MiB/s
snapshot
load
verify
job      1:02:05 so far, about 2:02:04 left, 2 warnings
`},
		{60, false, `
read     done   1.00 G rows  1023.0 GiB         30:00
sort     done                                   5.2 s
write     63%    629 M rows                18:52 left
upload         12.3 k files    98.0 GiB
snapshot
load
verify
job      1:02:05 so far, about 2:02:04 left, 2 warnings
`},
		{100, true, `
read     done                                   1.00 G rows  1023.0 GiB      555 k/s         30:00
sort     done                                                                                5.2 s
write    ended                                    629 M rows                  500 k/s         32:00
upload   ended                                  12.3 k files    98.0 GiB   49.9 MiB/s         32:00
job      failed after 1:02:05, 2 warnings
`},
	} {
		f := frame{progress: someProgress(), width: c.width - 1, height: 24, ended: c.ended, failed: c.ended}
		if got := "\n" + strings.Join(f.rows(), "\n") + "\n"; got != c.want {
			t.Errorf("%d columns:%s", c.width, got)
		}
	}
}

// TestFrameFits draws on screens of every size: no row is wider, and the current phase and the job are always shown.
func TestFrameFits(t *testing.T) {
	for width := minViewWidth; width < 200; width++ {
		for height := minViewHeight; height < 12; height++ {
			for _, ended := range []bool{false, true} {
				f := frame{progress: someProgress(), width: width - 1, height: height - 1, ended: ended}
				rows := f.rows()
				if len(rows) >= height {
					t.Fatalf("%d rows on a screen of %d", len(rows), height)
				}
				for _, r := range rows {
					if len(r) >= width {
						t.Fatalf("%d×%d: %q", width, height, r)
					}
				}
				if !ended && !strings.Contains(strings.Join(rows, "\n"), "write     63%") || !strings.HasPrefix(rows[len(rows)-1], "job ") {
					t.Fatalf("%d×%d: %q", width, height, rows)
				}
			}
		}
	}
}

// TestProgressLines checks a progress line.
func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&b, nil))
	var tracker progress.Tracker
	now := time.Date(2017, 10, 12, 3, 0, 0, 0, time.UTC)
	tracker.Now = func() time.Time { return now }
	e := tracker.Events()
	e.OnStart(progress.Start{Table: "check", Attempt: 1, Phases: []string{"read", "sort", "write"}})
	e.OnPhase("read")
	e.OnTotal("read", progress.Amount{Bytes: 4000})
	now = now.Add(10 * time.Second)
	e.OnRows(10, 1000)
	p := &Lines{tracker: &tracker, log: log, stop: make(chan struct{}), stopped: make(chan struct{})}
	ticks := make(chan time.Time)
	go p.run(ticks)
	ticks <- now
	p.End()
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, b.String())
	}
	for key, want := range map[string]any{"msg": "progress", "level": slog.LevelInfo.String(), "percent": 25.0,
		"rows": 10.0, "rows_per_second": 1.0, "bytes": 1000.0, "bytes_per_second": 100.0, "phase_left": 3e10} {
		if line[key] != want {
			t.Errorf("%s is %v, not %v", key, line[key], want)
		}
	}
	if left, _ := line["job_left"].(float64); left < 3e10 {
		t.Errorf("job_left is %v", line["job_left"])
	}
}

func TestTexts(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.00 k", 9994: "9.99 k", 9996: "10.0 k", 99_949: "99.9 k", 99_960: "100 k",
		999_499: "999 k", 999_500: "1.00 M", 12_345_678: "12.3 M", 5_000_000_000_000: "5.00 T", 5_000_000_000_000_000: "5000 T"} {
		if got := countText(n); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0:00", 59600 * time.Millisecond: "1:00", time.Hour: "1:00:00", 100*time.Hour + 61*time.Second: "100:01:01"} {
		if got := clockText(d); got != want {
			t.Errorf("%v: %q, not %q", d, got, want)
		}
	}
}
