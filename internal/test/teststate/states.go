// Package teststate creates state directories with the code that jobs use, without running jobs: of finished, failed and running jobs.
// It is a small leaf of its own: tests of the console, of commands and of pages share it.
package teststate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// States creates state directories with the code that jobs use, without running jobs.
type States struct {
	T   testing.TB
	Dir string // directory of all jobs
}

// Open begins a job of a table, which this process then works on until it is closed. The word distinguishes jobs of
// one table.
func (s States) Open(table, word string) *checkpoint.Job {
	s.T.Helper()
	name, err := loader.ParseTableName(table)
	testcheck.Must(s.T, err)
	job, err := checkpoint.Open(s.T.Context(), nil, checkpoint.IdentifyParts(name, word).On("cluster"), checkpoint.Options{Dir: s.Dir, JobID: word}, progress.Events{})
	testcheck.Must(s.T, err)
	testcheck.Must(s.T, job.Record(history.EventPlan, history.PlanRecord{Job: job.ID, Table: table, Family: spec.Family{Name: "f"}, Key: "md5hex(id) + id", Splits: []rowkey.Key{rowkey.Key("4"), rowkey.Key("8")},
		Staging: "hdfs://ns/tmp/bulkload-load/" + job.ID, Inputs: []history.InputRecord{{Input: "/exports/" + word + ".csv", Size: 1 << 20}}}))
	_, err = job.Begin("test")
	testcheck.Must(s.T, err)
	return job
}

// Done creates a finished job.
func (s States) Done(table, word string, rows int64, took time.Duration) string {
	s.T.Helper()
	job := s.Open(table, word)
	m := &manifest.Manifest{Table: table, Records: rows + 3, Rejected: 3, RejectFile: job.Dir + "/rejects.jsonl", HFiles: 3, Bytes: 100 * rows, Digest: manifest.Digest{Rows: rows, Cells: 2 * rows}}
	testcheck.Must(s.T, job.Record(history.EventBuilt, history.BuiltRecord{Manifest: m}))
	testcheck.Must(s.T, job.End(s.T.Context(), &result.Result{Schema: 1, Table: table, Job: job.Dir, Attempt: 1, Manifest: m, Elapsed: took}, nil, false, progress.Events{}))
	s.end(job, status.Ending{Status: "done", JobID: word, Rejected: 3})
	return job.Dir
}

// end writes the outcome of the command, and closes the job.
func (s States) end(job *checkpoint.Job, e status.Ending) {
	s.T.Helper()
	e.Schema, e.Command, e.Table, e.Attempt, e.Ended = 1, "run", job.Plan.Table, 1, time.Now().UTC()
	b, err := json.Marshal(e)
	testcheck.Must(s.T, err)
	testcheck.Must(s.T, os.WriteFile(filepath.Join(job.Dir, status.EndingName), b, 0o600))
	testcheck.Must(s.T, job.Close())
}

// Failed creates a job whose last attempt ended with an error.
func (s States) Failed(table, word, why string) string {
	s.T.Helper()
	job := s.Open(table, word)
	testcheck.Must(s.T, job.Record(history.EventFailed, history.FailedRecord{Error: why, Kind: "hdfs", Phase: "upload"}))
	s.end(job, status.Ending{Status: "failed", ExitCode: fail.HDFS.ExitCode(), Error: why, Kind: "hdfs", JobID: word})
	return job.Dir
}

// Running creates a job that this process works on until the test ends.
func (s States) Running(table, word string) *checkpoint.Job {
	s.T.Helper()
	job := s.Open(table, word)
	s.T.Cleanup(func() { testcheck.Must(s.T, job.Close()) })
	return job
}

// Says records the progress of a running job.
func (s States) Says(job *checkpoint.Job, word string, percent int, log ...string) {
	s.T.Helper()
	now := time.Now().UTC()
	p := progress.Progress{Schema: 1, Began: now.Add(-time.Minute), At: now, Start: progress.Start{Job: job.Dir, JobID: word, Table: job.Plan.Table, Attempt: 1, Regions: 3},
		Phases: []progress.PhaseProgress{
			{Name: "read", Began: now.Add(-time.Minute), Ended: now.Add(-30 * time.Second), Done: progress.Amount{Rows: 1000000, Bytes: 1 << 20}, Total: progress.Amount{Bytes: 1 << 20}},
			{Name: "write", Began: now.Add(-30 * time.Second), Done: progress.Amount{Rows: int64(percent) * 10000}, Total: progress.Amount{Rows: 1000000}},
		}, Left: progress.Left{Phase: 90 * time.Second, PhaseKnown: true, Job: 150 * time.Second, JobKnown: true}}
	live := status.NewLive(p, "test")
	live.Command, live.Log = "run", log
	testcheck.Must(s.T, live.Write(job.Dir))
}

// Command records the command that restarts a job: a program with these arguments.
func (s States) Command(dir string, args ...string) {
	s.T.Helper()
	host, err := os.Hostname()
	testcheck.Must(s.T, err)
	testcheck.Must(s.T, status.Command{Schema: 1, Args: args, Dir: s.T.TempDir(), Host: host, UID: os.Getuid()}.Write(dir))
}

// Many creates as many jobs as a busy site has: n in all, of several tables, some of them failed, and the given
// number running.
func (s States) Many(n, running int) (jobs []*checkpoint.Job) {
	s.T.Helper()
	for i := range n - running {
		table, word := fmt.Sprintf("sales:t%d", i%8), fmt.Sprintf("night-%03d", i)
		if i%40 == 7 {
			s.Failed(table, word, "hdfs is full")
			continue
		}
		s.Done(table, word, int64(100000+137*(i%31)*(i%7)), time.Duration(60+i%13)*time.Second)
	}
	for i := range running {
		word := fmt.Sprintf("now-%d", i)
		job := s.Running(fmt.Sprintf("sales:t%d", i), word)
		s.Says(job, word, 10*(i+1), "level=INFO msg=\"phase begins\" phase=write")
		jobs = append(jobs, job)
	}
	return jobs
}
