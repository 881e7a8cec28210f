package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/cli/report"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// report puts together what is known.
func (w *reporter) report(o outcome) *report.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	result := w.session.result()
	result.end(w.cmd, o.err, o.code)
	r := &report.Report{Command: result.Command, Status: result.Status, ExitCode: result.ExitCode, Error: result.Error, Advice: advice(o.code, result.Job != ""),
		Table: result.Table, Job: result.Job, JobID: result.JobID, Attempt: result.Attempt, Version: result.Version, Host: result.Host, PID: result.PID,
		Began: o.began, Ended: o.ended, Key: cmp.Or(w.start.Key, w.session.spec.Key), Timestamp: w.start.Timestamp, Target: w.start.Staging,
		Samples: w.samples, Rejected: result.Rejected, WithRecords: w.flags.records,
		Warnings: w.warnings, MoreWarned: w.moreWarned, Settings: reportSettings(w.cmd)}
	if o.result != nil && len(o.result.Parts) > 0 {
		w.addParts(r, o.result.Parts)
	} else {
		w.addInputs(r)
		addPhases(r, o)
	}
	w.addCounts(r, o)
	w.addState(r, o)
	w.addRejects(r, o)
	if r.RejectFile != "" && len(r.Parts) > 0 && o.result.Manifest != nil {
		r.RejectFile = rejectsText(o.result)
	}
	return r
}

// addInputs reports the files that were read.
func (w *reporter) addInputs(r *report.Report) {
	r.InputFiles, r.InputBytes = w.start.Files, w.start.Bytes
	addReading(r, w.start.Reading)
	for _, f := range w.start.Sources[:min(len(w.start.Sources), mostInputs)] {
		r.Inputs = append(r.Inputs, report.Input{Path: f.Path, Bytes: f.Bytes})
	}
	if len(r.Inputs) == 0 && r.InputFiles == 0 {
		for _, name := range w.session.spec.Inputs { // it did not come as far as to look at them
			r.Inputs = append(r.Inputs, report.Input{Path: name})
		}
		r.InputFiles = len(r.Inputs)
	}
}

func addPhases(r *report.Report, o outcome) {
	for _, p := range o.progress.Phases {
		phase := report.Phase{Name: p.Name, Began: p.Began, Ended: p.Ended, Rows: p.Done.Rows, Bytes: p.Done.Bytes, Files: p.Done.Files}
		r.Phases = append(r.Phases, phase)
	}
	// The tracker closes the last phase at the end, whatever the end was.
	if n := len(r.Phases); n > 0 && o.err != nil {
		r.Phases[n-1].Ended = time.Time{}
	}
}

// addParts reports the directories of a run that was split: those that it had to do with, the one at which it ended
// before all others. The inputs are as they were given.
func (w *reporter) addParts(r *report.Report, parts []result.Part) {
	r.PartsText, r.Timestamp = partsText(parts), 0 // each has its own
	for _, name := range w.session.spec.Inputs[:min(len(w.session.spec.Inputs), mostInputs)] {
		r.Inputs = append(r.Inputs, report.Input{Path: name})
	}
	under := "" // what all paths begin with
	if len(w.session.spec.Inputs) == 1 {
		under = strings.TrimSuffix(w.session.spec.Inputs[0], "/") + "/"
	}
	for _, p := range parts {
		r.InputFiles += p.Files
		r.InputBytes += p.Bytes
		if p.Status == result.PartAlready || p.Status == result.PartLeft {
			continue
		}
		part := report.Part{Input: strings.TrimPrefix(p.Input, under), Status: partText(p.Status), Began: p.Began, Rows: p.Rows, Bytes: p.Written, Rejected: p.Rejected}
		if !p.Began.IsZero() && p.Status == result.PartDone {
			part.Ended = p.Began.Add(p.Elapsed)
		}
		switch {
		case p.Status != result.PartDone:
			r.Parts = slices.Insert(r.Parts, 0, part)
		case len(r.Parts) < mostParts:
			r.Parts = append(r.Parts, part)
		default:
			r.MoreParts++
		}
	}
}

// addCounts says what was read and written, of a run that failed as far as it came.
func (w *reporter) addCounts(r *report.Report, o outcome) {
	var m *manifest.Manifest
	if o.result != nil {
		m = o.result.Manifest
		r.Verify = verifyText(o.result.Verify)
		if o.result.Replace != nil {
			r.Replaced = o.result.Replace.String()
		}
		if f := o.result.Fresh; f != nil {
			r.Replaced = strings.TrimPrefix(freshText(f), "; replaces ")
		}
		r.Tasks = reportTasks(o.result.YARN)
		if o.result.Regions > 0 {
			r.Load = &report.Load{Regions: o.result.Regions, Took: o.result.LoadTime}
		}
		for _, t := range o.result.Tables {
			x := report.Table{Name: t.Table, Index: t.Index, Regions: t.Regions, Took: t.LoadTime, Verify: verifyText(t.Verify)}
			if t.Manifest != nil {
				x.Rows, x.Cells, x.Filtered, x.HFiles, x.Bytes = t.Manifest.Digest.Rows, t.Manifest.Digest.Cells, t.Manifest.Filtered, t.Manifest.HFiles, t.Manifest.Bytes
			}
			r.Tables = append(r.Tables, x)
		}
	}
	for _, f := range o.result.Findings() {
		r.Expected = append(r.Expected, report.Expectation{Column: f.Column, Name: f.Expectation, Found: f.Found, Status: f.Status, Warn: f.Severity == expectation.Warn, Bad: f.Bad()})
	}
	w.endPart()
	regions := w.regions
	if m != nil {
		r.Counts = &report.Counts{Records: m.Records, Rows: m.Digest.Rows, Cells: m.Digest.Cells, Rejected: m.Rejected, Filtered: m.Filtered, Duplicates: m.Duplicates,
			HFiles: m.HFiles, Bytes: m.Bytes, SpillBytes: m.SpillBytes, SpillRuns: m.Runs, FilteredFile: m.FilteredFile, DuplicatesFile: m.DuplicatesFile}
		r.RejectFile = m.RejectFile
		r.Key, r.Timestamp = cmp.Or(r.Key, m.Key), cmp.Or(r.Timestamp, m.Timestamp)
		if len(m.Files) > 0 { // those of earlier attempts too
			regions = map[int]report.Region{}
			for _, f := range m.Files {
				addFile(regions, f.Region, f.Rows, f.Bytes)
			}
		}
	} else if p := o.progress; sampleOf(p).Read > 0 {
		r.Counts = &report.Counts{Records: sampleOf(p).Read, Rows: p.HFiles.Rows, HFiles: int(p.HFiles.Files), Bytes: p.HFiles.Bytes, SpillBytes: p.Spilled.Bytes}
	}
	var files []manifest.File
	if m != nil {
		files = m.Files
	}
	r.Regions = regionList(regions, max(w.start.Regions, len(w.start.Splits)+1), w.start.Splits, files)
	if r.Load != nil && o.progress.Phases != nil {
		for _, p := range o.progress.Phases {
			if p.Name == "load" {
				r.Load.Files += int(p.Done.Files)
			}
		}
	}
}

// regionList is all regions in the order of keys. Where split points are not known a region goes by its first row.
func regionList(regions map[int]report.Region, n int, splits [][]byte, files []manifest.File) []report.Region {
	if len(regions) == 0 {
		return nil
	}
	for region := range regions {
		n = max(n, region+1)
	}
	list := make([]report.Region, n)
	for region, r := range regions {
		list[region] = r
	}
	for i := range list {
		if i > 0 && i <= len(splits) {
			list[i].Start = rowkey.String(splits[i-1])
		}
	}
	if len(splits) == 0 {
		for _, f := range files {
			if r := &list[f.Region]; r.Start == "" && n > 1 {
				r.Start = rowkey.String(f.FirstRow)
			}
		}
	}
	return list
}

// addState says what the state directory knows: servers, earlier attempts, and of a job that was done before its files.
func (w *reporter) addState(r *report.Report, o outcome) {
	if r.Job == "" {
		return
	}
	s, err := checkpoint.Read(r.Job)
	if err != nil {
		return
	}
	if len(r.Regions) == 0 && len(s.Files) > 0 {
		regions := map[int]report.Region{}
		for _, f := range s.Files {
			addFile(regions, f.Region, f.Rows, f.Bytes)
		}
		splits := make([][]byte, len(s.Splits))
		for i, k := range s.Splits {
			splits[i] = k
		}
		r.Regions = regionList(regions, len(splits)+1, splits, s.Files)
	}
	if r.Load != nil {
		r.Load.Files = s.Loaded
		r.Load.Servers = servers(s.Taken)
	}
	for _, a := range s.Attempts {
		if a.Attempt == r.Attempt && (o.result == nil || !o.result.Already) {
			continue
		}
		r.Attempts = append(r.Attempts, report.Attempt{Attempt: a.Attempt, Began: a.Began, Ended: a.Ended, Process: fmt.Sprintf("%d on %s", a.PID, a.Host), State: string(a.State), Error: errorText(textError(settings.Spoken(a.Error)))})
	}
}

// textError makes a text an error again, empty none.
func textError(text string) error {
	if text == "" {
		return nil
	}
	return fmt.Errorf("%s", text)
}

// servers counts regions and files by server.
func servers(taken []checkpoint.Taken) []report.Server {
	var list []report.Server
	for _, t := range taken {
		if t.Server == "" || t.Files == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(s report.Server) bool { return s.Name == t.Server })
		if i < 0 {
			i = len(list)
			list = append(list, report.Server{Name: t.Server})
		}
		list[i].Regions++
		list[i].Files += t.Files
	}
	slices.SortFunc(list, func(a, b report.Server) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// addRejects reads the first bad records, also of a run that failed and has written them.
func (w *reporter) addRejects(r *report.Report, o outcome) {
	name := r.RejectFile
	if failed, ok := errors.AsType[*fail.RejectsError](o.err); ok && name == "" {
		name = failed.File
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
	}
	if name == "" {
		return
	}
	list, all, err := readRejects(name, w.flags.records)
	if err != nil {
		r.Warnings = append(r.Warnings, settings.SpokenError(err).Error())
		return
	}
	r.RejectFile, r.Rejects, r.Rejected = name, list, max(r.Rejected, all)
}

func verifyText(v *result.Verification) string {
	switch {
	case v == nil:
		return ""
	case v.Mode == "full":
		return fmt.Sprintf("the table has %s with this job's timestamp; %s were written", v.Got, v.Want) + maskedText(v.Masked)
	case v.Mode == "files":
		return filesText(v) + maskedText(v.Masked)
	case v.Mode == "sample":
		return fmt.Sprintf("%s were read back", setting.Count(v.Sampled, "sampled row")) + maskedText(v.Masked)
	}
	return "no (--verify off)"
}

// filesText says what the stores have of the files that were loaded.
func filesText(v *result.Verification) string {
	f := v.Files
	if f == nil {
		f = &result.StoreFiles{}
	}
	rows := setting.Count(v.Sampled, "sampled row") + " are as written"
	there := setting.Count(f.Files-f.Compacted, "HFile") + " are in the table's stores with the checksums that were written"
	compacted := fmt.Sprintf("%d of %s were compacted before the check; only sampled rows of them were compared", f.Compacted, setting.Count(f.Files, "HFile"))
	switch {
	case f.Compacted == 0:
		return there + ", " + rows
	case f.Compacted == f.Files:
		return compacted + ": " + rows
	}
	return there + "; " + compacted + ": " + rows
}

// maskedText says what the table has and readers do not see; empty where there is nothing such.
func maskedText(m result.Masked) string {
	if m.Rows == 0 {
		return ""
	}
	return fmt.Sprintf("; readers do not see all cells of %s: %s are masked by newer cells, %d are hidden by delete markers", setting.Count(m.Rows, "row"), setting.Count(m.Newer, "cell"), m.Deleted)
}

// reportSettings are the settings with their origins.
func reportSettings(cmd *cobra.Command) []report.Setting {
	var list []report.Setting
	for _, s := range settings.List(cmd) {
		list = append(list, report.Setting(s))
	}
	return list
}

// advice says what to do about a failure. A job with state resumes.
func advice(code int, state bool) string {
	again := "run the same command again"
	if state {
		again += ": it resumes the job"
	}
	if code > exitSignal {
		return again + "."
	}
	kind, failed := fail.KindOfExit(code)
	if !failed {
		return ""
	}
	return settings.Spoken(kind.Advice(again))
}
