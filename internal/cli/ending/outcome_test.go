package ending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"

	"github.com/spf13/cobra"
)

// command returns a subcommand of the program.
func command(name string) *cobra.Command {
	root, sub := &cobra.Command{Use: "bulkload"}, &cobra.Command{Use: name}
	sub.Flags().String("table", "", "")
	sub.Flags().String("job-id", "day", "")
	root.AddCommand(sub)
	return sub
}

// TestStatusOfEachEnd checks the exit code, the status and the kind of failure of each end of a command.
func TestStatusOfEachEnd(t *testing.T) {
	stop := func(s syscall.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(Signal(s))
		return ctx
	}
	cancelled := fmt.Errorf("read: %w", context.Canceled)
	for name, tt := range map[string]struct {
		ctx  context.Context
		err  error
		r    *result.Result
		want string
	}{
		"done":              {t.Context(), nil, &result.Result{}, `0 done "" ""`},
		"done before":       {t.Context(), nil, &result.Result{Already: true}, `0 already "" ""`},
		"with its code":     {t.Context(), fmt.Errorf("run: %w", ErrAlready), &result.Result{Already: true}, `99 already "" ""`},
		"a failure":         {t.Context(), fail.Errorf(fail.BadRows, "3 bad"), nil, `4 failed bad_rows "3 bad"`},
		"no kind":           {t.Context(), errors.New("oh"), nil, `1 failed unexpected "oh"`},
		"busy":              {t.Context(), fail.Errorf(fail.Busy, "held"), nil, `75 busy busy "held"`},
		"interrupted":       {stop(syscall.SIGINT), cancelled, nil, `130 stopped stopped "stopped by a signal: read: context canceled"`},
		"ended":             {stop(syscall.SIGTERM), Signal(syscall.SIGTERM), nil, `143 stopped stopped "stopped by a signal: terminated"`},
		"hung up":           {stop(syscall.SIGHUP), cancelled, nil, `129 stopped stopped "stopped by a signal: read: context canceled"`},
		"failed meanwhile":  {stop(syscall.SIGINT), fail.Errorf(fail.HDFS, "full"), nil, `6 failed hdfs "full"`},
		"done all the same": {stop(syscall.SIGINT), nil, &result.Result{}, `0 done "" ""`},
	} {
		code := 0
		if tt.err != nil {
			code = CodeOf(tt.ctx, tt.err)
		}
		o := Object{Result: tt.r, ErrorKind: "old"}
		o.End(tt.err, code)
		shown := func(status, kind, text string) string {
			if kind == "" {
				kind = `""`
			}
			return fmt.Sprintf("%d %s %s %q", code, status, kind, text)
		}
		if got := shown(o.Status, o.ErrorKind, o.Error); got != tt.want || o.ExitCode != code {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if tt.r != nil {
			continue
		}
		f := NewFailure(command("run"), tt.err, code)
		if got, want := shown(f.Status, f.ErrorKind, f.Error), strings.Replace(tt.want, "stopped by a signal: ", "", 1); got != want || f.Command != "run" || f.Schema != 1 || f.ExitCode != code {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
	if f := NewFailure(nil, fail.Usage(errors.New("no command")), 2); f.Command != "" || f.ErrorKind != "config" {
		t.Errorf("%+v", f)
	}
}

// outcome returns the end of a job with the given result.
func outcome(r *result.Result) Outcome {
	began := time.Date(2026, 3, 5, 8, 0, 0, 0, time.FixedZone("", 8*3600))
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	return Outcome{Result: r, Began: began, Ended: at(10), Progress: progress.Progress{Warnings: 2, Phases: []progress.PhaseProgress{{Name: "read", Began: began, Ended: at(4), Done: progress.Amount{Rows: 7, Bytes: 70}},
		{Name: "write", Began: at(4), Ended: at(9), Done: progress.Amount{Rows: 6, Files: 2}}, {Name: "read", Began: at(9), Ended: at(10), Done: progress.Amount{Rows: 1}}},
		Start: progress.Start{Table: "t:planned", Job: "/state/job", JobID: "id", Attempt: 2, Files: 3, Bytes: 100, Reading: &progress.Reading{Lacking: []progress.FileColumns{{Files: []string{"a"}}}, PassedOver: []progress.FileColumns{{Files: []string{"a", "b"}}}}}}}
}

// TestDescribe compares the objects of outcomes with what docs/result.md says.
func TestDescribe(t *testing.T) {
	m := &manifest.Manifest{Schema: 1, Table: "t:x", Rejected: 3, Filtered: 4, Bytes: 50, Digest: manifest.Digest{Rows: 20}, Files: []manifest.File{{}}}
	const times = `"seconds":10,"phases":[{"name":"write","seconds":5,"rows":6,"files":2},{"name":"read","seconds":5,"rows":8,"bytes":70}],"warnings":2`
	for name, tt := range map[string]struct {
		command string
		change  func(*Outcome)
		want    []string
		not     []string
	}{
		"run": {"run", func(*Outcome) {}, []string{`"status":"done"`, `"command":"run","version":"v1"`, `"table":"t:x","job":"/state/job"`, `"job_id":"id","attempt":2,"began":"2026-03-05T00:00:00Z","ended":"2026-03-05T00:00:10Z",` + times,
			`"rejected":3,"filtered":4,"rates":{"rows_per_second":2,"input_bytes_per_second":10,"hfile_bytes_per_second":5}`, `"reading":{`, `"elapsed_ns":10000000000`, `"manifest":{`}, []string{`"files":[{`, `"error"`}},
		"build":     {"build", func(*Outcome) {}, []string{`"key":`, `"modulus":`}, []string{`"files":[{`}},
		"failed":    {"run", func(o *Outcome) { o.Err, o.Code = fail.Errorf(fail.Load, "lost"), 7 }, []string{`"status":"failed","exit_code":7,"error":"lost","error_kind":"load"`, times}, []string{`"rates"`}},
		"no result": {"load", func(o *Outcome) { o.Result = nil }, []string{`"table":"t:planned","job":"/state/job"`, `"attempt":2`}, []string{`"rates"`, `"manifest"`, `"rejected":3`}},
		"not begun": {"load", func(o *Outcome) { o.Result, o.Progress = nil, progress.Progress{} }, []string{`"table":"t:given"`, `"job":"","job_id":"day","attempt":0`, `"phases":[],"warnings":0`}, nil},
		"already":   {"run", func(o *Outcome) { o.Result.Already = true }, []string{`"status":"already"`}, []string{`"rates"`}},
		"a share":   {"build", func(o *Outcome) { o.Result.Manifest, o.Result.Share = nil, &result.Share{Rejected: 8, Filtered: 9} }, []string{`"rejected":8,"filtered":9`}, []string{`"rates"`}},
		"parts": {"run", func(o *Outcome) {
			o.Progress.Start.Parts = 2
			o.Result.Parts = result.Parts{{Status: result.PartAlready, Rows: 10, Bytes: 60, Written: 20}, {Status: result.PartDone, Rows: 10, Bytes: 40, Written: 30}}
		}, []string{`"rates":{"rows_per_second":1,"input_bytes_per_second":4,"hfile_bytes_per_second":3}`}, []string{`"reading"`}},
	} {
		o := outcome(&result.Result{Schema: 1, Table: "t:x", Manifest: m})
		tt.change(&o)
		o.Describe(command(tt.command), "v1", "t:given")
		b, err := json.Marshal(o.Object)
		testcheck.Must(t, err)
		for _, want := range tt.want {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %s: %s", name, want, b)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(string(b), not) {
				t.Errorf("%s has %s: %s", name, not, b)
			}
		}
	}
	if len(m.Files) != 1 {
		t.Error("the job's own manifest has lost its files")
	}
}

// TestPrintedOutcomes compares what is printed at the end of a job.
func TestPrintedOutcomes(t *testing.T) {
	full := func() *result.Result {
		m := &manifest.Manifest{Records: 9, Rejected: 1, Filtered: 2, Bytes: 2048, HFiles: 2, Digest: manifest.Digest{Rows: 20, Cells: 40}, RejectFile: "bad.jsonl", FilteredFile: "left.jsonl",
			Expect: &expectation.Counts{Findings: []expectation.Finding{{Status: expectation.Passed}, {Status: expectation.Passed}, {Status: expectation.Failed, Severity: expectation.Warn}, {Status: expectation.Unchecked}}}}
		return &result.Result{Table: "t:x", Manifest: m, Regions: 3}
	}
	const done = "done: table t:x, 9 records read, 20 rows (40 cells) in 2 HFiles of 2.0 KiB loaded into 3 regions in 10s (2 rows/s, 204 B/s)"
	const rest = "; 2 records left out by the filter, in left.jsonl; 2 of 4 expectations met, 1 not met (warnings), 1 not checked; 1 of 3 files lack columns, which are NULL there; 2 of 3 files have columns that were passed over; 1 bad record set aside in bad.jsonl\n"
	for name, tt := range map[string]struct {
		change func(*Outcome)
		want   string
	}{
		"run":      {func(*Outcome) {}, done + rest},
		"nothing":  {func(o *Outcome) { o.Result = nil }, ""},
		"verified": {func(o *Outcome) { o.Result.Verify = &result.Verification{Mode: "sample", Sampled: 5} }, done + "; verified: 5 sampled rows are as written" + rest},
		"not verified": {func(o *Outcome) {
			o.Result.Verify, o.Result.Replace = &result.Verification{Mode: "off"}, &result.Replace{Rows: 9, Deleted: 2, Changed: 1}
		}, done + "; replaced: 2 of the 9 rows before are deleted, 1 have lost columns; not verified (--verify off)" + rest},
		"done before": {func(o *Outcome) {
			o.Result = &result.Result{Table: "t:x", Already: true, Elapsed: 3 * time.Second, Manifest: &manifest.Manifest{Bytes: 300, Digest: manifest.Digest{Rows: 30}}}
		}, "the job was done before: nothing to do (--restart loads it again); it was: table t:x, 30 rows (0 cells) in 0 HFiles of 300 B in 3s (10 rows/s, 100 B/s); 1 of 3 files lack columns, which are NULL there; 2 of 3 files have columns that were passed over\n"},
		"files alone": {func(o *Outcome) { o.Result, o.Progress.Start.Reading = &result.Result{Regions: 1}, nil }, "done: 3 files of 100 B loaded into 1 region in 10s\n"},
		"tables": {func(o *Outcome) {
			o.Progress.Start.Reading = nil
			o.Result = &result.Result{Tables: []result.Table{{Table: "t:y", Regions: 2, Manifest: &manifest.Manifest{HFiles: 1, Bytes: 5, Filtered: 1, Digest: manifest.Digest{Rows: 4}}}}}
		}, "done: 3 files of 100 B in 10s; table t:y, 4 rows in 1 HFile of 5 B (1 record left out by filters) loaded into 2 regions\n"},
		"failed parts": {func(o *Outcome) {
			o.Err = errors.New("lost")
			o.Result.Parts = result.Parts{{Input: "a", Status: result.PartDone, Records: 1, Rows: 1, Cells: 2, HFiles: 1, Written: 7, Elapsed: time.Second}, {Input: "b", Status: result.PartAlready}, {Input: "c", Status: result.PartFailed}, {Input: "d", Status: result.PartLeft}}
		}, "a: 1 record read, 1 row (2 cells) in 1 HFile, 7 B, in 1s\nc: failed\n4 directories: 1 done, 1 done before, 1 failed, 1 pending\n"},
		"failed clusters": {func(o *Outcome) {
			o.Err = errors.New("lost")
			o.Result.Clusters = []result.Cluster{{Status: result.PartDone, Elapsed: time.Second, Replace: &result.Replace{Rows: 1}}, {Conf: "/conf/b", Status: result.PartLeft}}
		}, "cluster the command's own: done in 1s; replaced: 0 of the 1 rows before are deleted, 0 have lost columns\ncluster /conf/b: pending\n"},
	} {
		o := outcome(full())
		tt.change(&o)
		var b strings.Builder
		if err := o.Print(&b); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, b.String(), tt.want)
		}
	}
	r, w := io.Pipe()
	testcheck.Must(t, r.Close())
	out := &Output{Writer: w}
	if o := outcome(full()); o.Print(out) == nil || !errors.Is(out.Err(), io.ErrClosedPipe) || !strings.Contains(out.Err().Error(), "write the output: ") {
		t.Errorf("an output that takes nothing: %v", out.Err())
	}
}
