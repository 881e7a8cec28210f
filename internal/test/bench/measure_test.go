package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Case is a comparison: tools that do the same work.
type Case struct {
	Name  string // name for the selection
	Title string
	// Reference is the name of the tool that the others are compared with. Default: none, and no ratios.
	Reference string
	// PerRow compares times per row, for tools with different numbers of rows. Memory is compared as it is.
	PerRow bool
	// Rounds is the number of measured rounds of each tool. Default 1.
	Rounds int
	// WarmRounds is the number of rounds before those. Default 1.
	WarmRounds int
	// Limit is the time after which no further round begins, once there are enough rounds for a [Verdict]. Default: none.
	Limit time.Duration
	// Touch is the number of bytes of memory to touch before each run: as many as any of the tools takes. Default 6
	// GiB.
	Touch int64
	// Today and Baseline name the tools of a [Verdict]. Default: none.
	Today, Baseline string
	Tools           []Tool
	Notes           []string

	after func() []string // further notes, after all measurements
}

// Tool is one way to do a case's work.
type Tool struct {
	Name string
	Rows int64
	// Cold skips the rounds that warm up, for work so long that its start does not matter.
	Cold bool
	// Warm reads the input into memory before each run. Default: nothing to read.
	Warm func(ctx context.Context) error
	// Run does the work once. The rounds from 0 on warm up; the measured ones follow [Case.WarmRounds]. Only the returned
	// sample counts, so Run may also prepare and clean up.
	Run func(ctx context.Context, round int) (Sample, error)
}

// Sample is one run of a tool.
type Sample struct {
	Usage
	// Detail has the tool's own figures, by name with unit, such as "write s".
	Detail map[string]float64 `json:"detail,omitempty"`
}

// Measure runs the tools of a case in turn. The order within a round is reversed in each round, so that no tool always
// follows the same one.
func Measure(ctx context.Context, c Case, log *slog.Logger) (CaseReport, error) {
	runs := make([][]Sample, len(c.Tools))
	started := time.Now()
	c.Rounds = max(c.Rounds, 1)
	warm := max(c.WarmRounds, 1)
	for round := range warm + c.Rounds {
		if c.Limit > 0 && round >= warm+minRounds && time.Since(started) > c.Limit {
			c.Rounds = round - warm
			break
		}
		for n := range c.Tools {
			i := n
			if round%2 == 0 {
				i = len(c.Tools) - 1 - n
			}
			t := c.Tools[i]
			if round < warm && t.Cold {
				continue
			}
			s, err := t.warmRun(ctx, round, cmp.Or(c.Touch, warmBytes))
			if err != nil {
				return CaseReport{}, fmt.Errorf("case %s, %s, round %d: %w", c.Name, t.Name, round, err)
			}
			log.Info("measured", "case", c.Name, "tool", t.Name, "round", round, "wall", s.Wall.Round(time.Millisecond),
				"cpu", s.CPU().Round(time.Millisecond), "peak", mib(float64(s.PeakRSS))+" MiB")
			if round >= warm {
				runs[i] = append(runs[i], s)
			}
		}
	}
	if c.after != nil {
		c.Notes = append(c.Notes, c.after()...)
	}
	r := newCaseReport(c, runs)
	r.Took = time.Since(started)
	return r, nil
}

// warmRun is Run after memory and input are warmed up.
func (t Tool) warmRun(ctx context.Context, round int, touch int64) (Sample, error) {
	if t.Warm != nil {
		if err := errors.Join(warmMemory(touch), t.Warm(ctx)); err != nil {
			return Sample{}, err
		}
	}
	return t.Run(ctx, round)
}
