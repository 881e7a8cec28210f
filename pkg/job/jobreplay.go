package job

import (
	"cmp"
	"encoding/json"

	"bulkload/pkg/journal"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
)

// add takes a record into account. What is not known is left alone.
func (s *JobState) add(r journal.Record) error {
	s.Last = r.Time
	if n := len(s.Attempts); n > 0 {
		s.Attempts[n-1].Ended = r.Time
	}
	switch r.Event {
	case "plan":
		return s.addPlan(r)
	case "attempt":
		a, err := decode[attemptRecord](r)
		s.Attempts = append(s.Attempts, Attempt{Attempt: a.Attempt, PID: a.PID, Host: a.Host, Version: a.Version, Began: r.Time, Ended: r.Time, State: JobInterrupted, Steps: []Step{}})
		s.Attempt, s.PID, s.Host, s.Began, s.Phase = a.Attempt, a.PID, a.Host, r.Time, cmp.Or(s.Phase, "read")
		return err
	case "sorted":
		s.step(r, "write")
	case "written":
		w, err := decode[struct {
			manifest.File
			Others []manifest.File `json:"others"`
		}](r)
		for _, f := range append(w.Others, w.File) {
			s.Files = append(s.Files, f)
			s.HFiles++
			s.Bytes += f.Bytes
		}
		s.Rows += w.Rows
		return err
	case "built":
		b, err := decode[builtRecord](r)
		if m := b.Manifest; m != nil {
			s.Rows, s.HFiles, s.Bytes = m.Digest.Rows, m.HFiles, m.Bytes
		}
		s.step(r, "load")
		return err
	case "snapshot":
		n, err := decode[snapshotRecord](r)
		s.Snapshot = n.Snapshot
		s.step(r, "load")
		return err
	case "loading":
		s.step(r, "load")
	case "sending":
		g, err := decode[sendingRecord](r)
		for _, g := range g.Groups {
			s.taken(g.Region).Server = g.Server
		}
		return err
	case "loaded":
		f, err := decode[filesRecord](r)
		s.Loaded += len(f.Files)
		s.taken(f.Region).Files += len(f.Files)
		return err
	case "verified":
		s.step(r, "verify")
	case "failed":
		f, err := decode[failedRecord](r)
		if n := len(s.Attempts); n > 0 {
			s.Attempts[n-1].State, s.Attempts[n-1].Error = JobFailed, f.Error
		}
		return err
	case "done":
		s.step(r, "")
		if n := len(s.Attempts); n > 0 {
			s.Attempts[n-1].State = JobDone
		}
		s.State, s.Ended = JobDone, r.Time
		return s.addResult(r)
	}
	return nil
}

func (s *JobState) addPlan(r journal.Record) error {
	p, err := decode[planRecord](r)
	s.Table, s.Key, s.Staging, s.Splits, s.Regions = p.Table, p.Key, p.Staging, p.Splits, len(p.Splits)+1
	for _, f := range p.Inputs {
		s.Inputs++
		s.InBytes += f.Size
		s.Source = append(s.Source, progress.InputFile{Path: f.Input, Bytes: f.Size})
	}
	return err
}

func (s *JobState) addResult(r journal.Record) error {
	d := struct {
		Result *result.Result `json:"result"`
	}{}
	err := json.Unmarshal(r.Data, &d)
	s.Result = d.Result
	return err
}

// step notes what the last attempt has finished, and which phase follows.
func (s *JobState) step(r journal.Record, next string) {
	if n := len(s.Attempts); n > 0 {
		s.Attempts[n-1].Steps = append(s.Attempts[n-1].Steps, Step{r.Event, r.Time})
	}
	s.Phase = next
}

// taken is the entry of a region.
func (s *JobState) taken(region string) *Taken {
	i, known := s.takenAt[region]
	if !known {
		if s.takenAt == nil {
			s.takenAt = map[string]int{}
		}
		i = len(s.Taken)
		s.takenAt[region] = i
		s.Taken = append(s.Taken, Taken{Region: region})
	}
	return &s.Taken[i]
}
