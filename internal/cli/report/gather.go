package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
)

// Options are the subject and the target of a report, besides the state directory of the job.
type Options struct {
	Cmd     *cobra.Command
	Spec    spec.Spec
	Tracker *progress.Tracker
	File    string // empty: no file
	Records bool   // show bad records
}

// Gather starts to collect the data of a report. If the file cannot be one, such as a device, or its directory does not
// exist, it returns a usage error.
func Gather(o Options) (*Reporter, error) {
	if o.File != "" {
		if info, err := os.Stat(filepath.Dir(o.File)); err != nil {
			return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--report: %w", err), "report"))
		} else if !info.IsDir() {
			return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--report: %s is not a directory", filepath.Dir(o.File)), "report"))
		}
		if _, err := durable.Target(o.File); err != nil {
			return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--report: %w", err), "report"))
		}
	}
	w := newReporter(o)
	w.done.Go(w.loop)
	return w, nil
}

func newReporter(o Options) *Reporter {
	return &Reporter{options: o, regions: map[int]region{}, part: map[int]region{}, stop: make(chan struct{})}
}

// Limits of the contents of a report.
const (
	maxSamples  = 600
	maxWarnings = 100
	maxInputs   = 50
	maxParts    = 500
	maxWays     = 10
)

// Reporter collects data about a job, and writes the report at the job's end.
type Reporter struct {
	options Options
	stop    chan struct{}
	done    sync.WaitGroup

	mu         sync.Mutex
	start      progress.Start
	regions    map[int]region // of the files written in this run, except those of the current part
	part       map[int]region // of the current part; all regions, if the job was not split
	warnings   []string
	moreWarned int
	samples    []sample
}

// loop takes a sample each second, or less often for a long job.
func (w *Reporter) loop() {
	every := time.Second
	for {
		w.mu.Lock()
		thinned, by := downsample(append(w.samples, w.sample()), maxSamples)
		w.samples, every = thinned, every*by
		w.mu.Unlock()
		select {
		case <-w.stop:
			return
		case <-time.After(every):
		}
	}
}

func (w *Reporter) sample() sample { return sampleOf(w.options.Tracker.Progress()) }

func sampleOf(p progress.Progress) sample {
	s := sample{At: p.At, Output: p.Written}
	for _, phase := range p.Phases {
		switch phase.Name {
		case "read":
			s.Read, s.Input = s.Read+phase.Done.Rows, s.Input+phase.Done.Bytes
		case "write":
			s.Merged += phase.Done.Rows
		case "verify":
			s.Verified += phase.Done.Rows
		}
	}
	return s
}

// mark takes an extra sample where the rates change, so that a short job has samples too.
func (w *Reporter) mark() {
	const least = 50 * time.Millisecond
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sample()
	if n := len(w.samples); n == 0 || s.At.Sub(w.samples[n-1].At) > least {
		w.samples = append(w.samples, s)
	}
}

// Events returns the callbacks through which the reporter follows the job.
func (w *Reporter) Events() progress.Events {
	return progress.Events{
		OnStart: func(s progress.Start) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.start = s
			w.endPart()
		},
		OnPhase: func(string) { w.mark() },
		OnHFile: func(f progress.HFile) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.start.Further(f) {
				addFile(w.part, f.Region, f.Rows, f.Bytes)
			}
		},
		OnWarn: func(msg string, kv ...any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.warnings) < maxWarnings {
				w.warnings = append(w.warnings, noteText(msg, kv))
			} else {
				w.moreWarned++
			}
		},
	}
}

// endPart adds the regions of a part to those of all parts. The caller holds the lock.
func (w *Reporter) endPart() {
	for i, p := range w.part {
		r := w.regions[i]
		w.regions[i] = region{Rows: r.Rows + p.Rows, Bytes: r.Bytes + p.Bytes, Files: r.Files + p.Files}
	}
	clear(w.part)
}

// addFile adds a file to its region. The rows of a region are those of one family: the families have all of the rows,
// or fewer.
func addFile(regions map[int]region, region int, rows, bytes int64) {
	r := regions[region]
	r.Rows = max(r.Rows, rows)
	r.Bytes += bytes
	r.Files++
	regions[region] = r
}

// noteText formats a message with its values like the log does.
func noteText(msg string, kv []any) string {
	var b bytes.Buffer
	b.WriteString(msg)
	for i := 0; i+1 < len(kv); i += 2 {
		fmt.Fprintf(&b, " %v=%v", kv[i], settings.SpokenValue(nil, kv[i+1]))
	}
	return b.String()
}

// End writes the report. If another process works on the job, that process reports it. If the job was done before,
// its state keeps the report of the run that did it.
func (w *Reporter) End(_ context.Context, o ending.Outcome) error {
	close(w.stop)
	w.done.Wait()
	if o.Code == fail.Busy.ExitCode() {
		return nil
	}
	w.mark()
	dir := ""
	if o.Result != nil && !o.Result.Already {
		dir = o.Result.Job
	}
	var names []string
	if w.options.File != "" {
		names = append(names, w.options.File)
	}
	if dir != "" && status.IsOurs(dir) {
		names = append(names, filepath.Join(dir, "report.html"))
		if n := o.Result.Attempt; n > 0 {
			names = append(names, filepath.Join(dir, "report-"+strconv.Itoa(n)+".html"))
		}
	}
	if len(names) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := w.report(o).Write(&b); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	errs := make([]error, len(names))
	var writing sync.WaitGroup
	for i, name := range names {
		writing.Go(func() { // each one waits for the disk
			if err := durable.Replace(name, b.Bytes()); err != nil {
				errs[i] = fmt.Errorf("report: %w", err)
			}
		})
		if name == w.options.File {
			writing.Wait() // it may be one of the other files under another name
		}
	}
	writing.Wait()
	if i := slices.Index(errs, nil); i >= 0 {
		o.Object.Report = names[i]
		if abs, err := filepath.Abs(names[i]); err == nil {
			o.Object.Report = abs
		}
	}
	return errors.Join(errs...)
}
