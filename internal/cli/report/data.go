package report

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

func (w *Reporter) report(o ending.Outcome) *document {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &document{Object: *o.Object, Advice: advice(o.Code, o.Object.Job != ""),
		Key: cmp.Or(w.start.Key, w.options.Spec.Key), Timestamp: w.start.Timestamp, Target: w.start.Staging, Samples: w.samples, WithRecords: w.options.Records,
		Warnings: w.warnings, MoreWarned: w.moreWarned, Settings: settings.List(w.options.Cmd)}
	if o.Result != nil && len(o.Result.Parts) > 0 {
		w.addParts(r, o.Result.Parts)
	} else {
		w.addInputs(r)
		addPhases(r, o)
	}
	w.addCounts(r, o)
	w.addState(r, o)
	w.addRejects(r, o)
	if r.RejectFile != "" && len(r.Parts) > 0 && o.Result.Manifest != nil {
		r.RejectFile = o.Result.Parts.Files(r.RejectFile, func(p result.Part) string { return p.RejectFile })
	}
	return r
}

func (w *Reporter) addInputs(r *document) {
	r.InputFiles, r.InputBytes = w.start.Files, w.start.Bytes
	addReading(r, w.start.Reading)
	r.Inputs = w.start.Sources[:min(len(w.start.Sources), maxInputs)]
	if len(r.Inputs) == 0 && r.InputFiles == 0 {
		for _, name := range w.options.Spec.Inputs { // the job ended before it listed the files
			r.Inputs = append(r.Inputs, progress.InputFile{Path: name})
		}
		r.InputFiles = len(r.Inputs)
	}
}

func addReading(r *document, reading *progress.Reading) {
	if reading == nil {
		return
	}
	for _, way := range reading.Ways[:min(len(reading.Ways), maxWays)] {
		r.ReadAs = append(r.ReadAs, fmt.Sprintf("%s: %s", setting.Count(way.Files, "file"), way))
	}
	if n := len(reading.Ways) - maxWays; n > 0 {
		r.ReadAs = append(r.ReadAs, fmt.Sprintf("and in %s", setting.Count(n, "more way")))
	}
	if len(reading.Partitions) > 0 {
		r.Partitions = reading.ByPath()
	}
	r.Lacking, r.MoreLacking = differing(reading.Lacking)
	r.PassedOver, r.MorePassed = differing(reading.PassedOver)
}

// differing returns a list for the report, and the number of files that it leaves out.
func differing(list []progress.FileColumns) (first []differingFiles, more int) {
	for _, l := range list[:min(len(list), maxInputs)] {
		columns, files := l.Text()
		first = append(first, differingFiles{Columns: columns, Files: len(l.Files), First: files})
	}
	return first, progress.CountFiles(list[len(first):])
}

func addPhases(r *document, o ending.Outcome) {
	r.Phases = slices.Clone(o.Progress.Phases)
	// The tracker closes the last phase at the end of the job, even if the job failed.
	if n := len(r.Phases); n > 0 && o.Err != nil {
		r.Phases[n-1].Ended = time.Time{}
	}
}

// addParts adds the directories of a split run that the run worked on. The directory at which the run ended comes
// first. The inputs are listed as they were given.
func (w *Reporter) addParts(r *document, parts result.Parts) {
	r.PartsText, r.Timestamp = parts.Text(), 0 // each part has its own timestamp
	for _, name := range w.options.Spec.Inputs[:min(len(w.options.Spec.Inputs), maxInputs)] {
		r.Inputs = append(r.Inputs, progress.InputFile{Path: name})
	}
	under := "" // common prefix of all paths
	if len(w.options.Spec.Inputs) == 1 {
		under = strings.TrimSuffix(w.options.Spec.Inputs[0], "/") + "/"
	}
	for _, p := range parts {
		r.InputFiles += p.Files
		r.InputBytes += p.Bytes
		if p.Status == result.PartAlready || p.Status == result.PartLeft {
			continue
		}
		part := part{Input: strings.TrimPrefix(p.Input, under), Status: p.Status.Text(), Began: p.Began, Rows: p.Rows, Bytes: p.Written, Rejected: p.Rejected}
		if !p.Began.IsZero() && p.Status == result.PartDone {
			part.Ended = p.Began.Add(p.Elapsed)
		}
		switch {
		case p.Status != result.PartDone:
			r.Parts = slices.Insert(r.Parts, 0, part)
		case len(r.Parts) < maxParts:
			r.Parts = append(r.Parts, part)
		default:
			r.MoreParts++
		}
	}
}

// addCounts adds the amounts that were read and written; for a failed run, the amounts so far.
func (w *Reporter) addCounts(r *document, o ending.Outcome) {
	var m *manifest.Manifest
	if o.Result != nil {
		m = o.Result.Manifest
		r.Verify = verified(o.Result.Verify)
		if o.Result.Replace != nil {
			r.Replaced = o.Result.Replace.String()
		}
		if f := o.Result.Fresh; f != nil {
			r.Replaced = f.String()
		}
		r.Tasks = tasksOf(o.Result.YARN)
		if o.Result.Regions > 0 {
			r.Load = &loadCounts{Regions: o.Result.Regions, Took: o.Result.LoadTime}
		}
		r.Tables = slices.Clone(o.Result.Tables)
		for i, t := range r.Tables {
			r.Tables[i].Manifest = cmp.Or(t.Manifest, &manifest.Manifest{})
		}
	}
	r.Expected = o.Result.Findings()
	w.endPart()
	regions := w.regions
	if m != nil {
		r.Counts, r.RejectFile = o.Result.Amounts(o.Progress), m.RejectFile
		r.Before = r.Counts.Digest.Rows - o.Result.OfRun().Amounts(o.Progress).Digest.Rows
		r.Key, r.Timestamp = cmp.Or(r.Key, m.Key), cmp.Or(r.Timestamp, m.Timestamp)
		if len(m.Files) > 0 { // files of earlier attempts too
			regions = map[int]region{}
			for _, f := range m.Files {
				addFile(regions, f.Region, f.Rows, f.Bytes)
			}
		}
	} else if so := o.Result.Amounts(o.Progress); so.Records > 0 {
		r.Counts, r.RejectFile = so, so.RejectFile
	}
	r.Regions = regionList(regions, max(w.start.Regions, len(w.start.Splits)+1), w.start.Splits)
	if r.Load != nil {
		for _, p := range o.Progress.Phases {
			if p.Name == "load" {
				r.Load.Files += int(p.Done.Files)
			}
		}
	}
}

// verified returns the result of the verification as text, or "" if it is not known.
func verified(v *result.Verification) string {
	if text := v.Text(); text != "" || v == nil {
		return text
	}
	return "no (--verify off)"
}

// regionList returns all regions in the order of keys. Where split points are not known, regions have no first keys: those of
// their rows would be data.
func regionList(regions map[int]region, n int, splits [][]byte) []region {
	if len(regions) == 0 {
		return nil
	}
	for region := range regions {
		n = max(n, region+1)
	}
	list := make([]region, n)
	for region, r := range regions {
		list[region] = r
	}
	for i, s := range splits[:min(len(splits), n-1)] {
		list[i+1].Start = rowkey.String(s)
	}
	return list
}

// addState adds data from the state directory: servers, earlier attempts, and the files of a job that was done
// before.
func (w *Reporter) addState(r *document, o ending.Outcome) {
	if r.Job == "" {
		return
	}
	s, err := status.Read(r.Job)
	if err != nil {
		return
	}
	if len(r.Regions) == 0 && len(s.Files) > 0 {
		regions := map[int]region{}
		for _, f := range s.Files {
			addFile(regions, f.Region, f.Rows, f.Bytes)
		}
		r.Regions = regionList(regions, len(s.Splits)+1, rowkey.Rows(s.Splits))
	}
	if r.Load != nil {
		r.Load.Files = s.Loaded
		r.Load.Servers = servers(s.Taken)
	}
	for _, a := range s.Attempts {
		if a.Attempt == r.Attempt && (o.Result == nil || !o.Result.Already) {
			continue
		}
		a.Error = ending.Bounded(settings.Spoken(a.Error))
		r.Attempts = append(r.Attempts, a)
	}
}

func servers(taken []history.Taken) []server {
	var list []server
	for _, t := range taken {
		if t.Server == "" || t.Files == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(s server) bool { return s.Name == t.Server })
		if i < 0 {
			i = len(list)
			list = append(list, server{Name: t.Server})
		}
		list[i].Regions++
		list[i].Files += t.Files
	}
	slices.SortFunc(list, func(a, b server) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// addRejects adds the first bad records, also for a failed run that has written them.
func (w *Reporter) addRejects(r *document, o ending.Outcome) {
	name := r.RejectFile
	if failed, ok := errors.AsType[*fail.RejectsError](o.Err); ok && name == "" {
		name = failed.File
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
	}
	if name == "" {
		return
	}
	again := w.start.Reading != nil && !slices.ContainsFunc(w.start.Reading.Ways, func(way progress.Way) bool { return !way.Rejects() })
	list, all, err := readRejects(name, w.options.Records, again)
	if err != nil {
		r.Warnings = append(r.Warnings, settings.SpokenError(nil, err).Error())
		return
	}
	r.RejectFile, r.Rejects, r.Rejected = name, list, max(r.Rejected, all)
}

// advice returns a text that says what the user can do about a failure. A job with state resumes.
func advice(code int, state bool) string {
	again := "run the same command again"
	if state {
		again += ": it resumes the job"
	}
	if ending.Stopped(code) {
		return again + "."
	}
	kind, failed := fail.KindOfExit(code)
	if !failed {
		return ""
	}
	return settings.Spoken(kind.Advice(again))
}

// Limits of the tasks in a report: visible at first, and in total. The file of tasks has all of them.
const (
	firstTasks = 10
	maxTasks   = 1000
)

// tasksOf lists the tasks of a job on YARN: the stragglers, then the others, each group in descending order of
// duration.
func tasksOf(y *result.YARN) *taskList {
	if y == nil {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s and %s, %s shuffled", y.Application, setting.Count(y.Maps, "map"), setting.Count(y.Reduces, "reduce"), setting.Bytes(y.Shuffled))
	switch {
	case y.Failed == 1:
		text.WriteString(", 1 attempt failed and was made again")
	case y.Failed > 1:
		fmt.Fprintf(&text, ", %s failed and were made again", setting.Count(y.Failed, "attempt"))
	}
	if y.Stragglers > 0 {
		fmt.Fprintf(&text, ", %d took twice as long as half of their kind", y.Stragglers)
	}
	all := y.Slowest(maxTasks)
	first := min(len(all), firstTasks)
	return &taskList{Text: text.String() + ".", First: all[:first], Rest: all[first:], More: len(y.Tasks) - len(all)}
}
