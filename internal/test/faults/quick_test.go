package faults

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
)

// someRows returns a job that is subject to everything that can go wrong: several regions, cells in the table before, and
// a sort that spills.
func someRows() Job {
	return Job{Spec: data.Spec{Table: data.Opinion, Rows: 16_000, Seed: 11, Regions: 6}, Form: data.Dump, Memory: "24MiB", Verify: "full", Before: 6}
}

// fewRows returns a short job.
func fewRows() Job {
	return Job{Spec: data.Spec{Table: data.Check, Rows: 1500, Seed: 7, Regions: 4}, Form: data.CSV, Memory: "64MiB", Verify: "full", Before: 4}
}

func at(event string) Trigger { return Trigger{Event: event} }

// TestQuickKilled makes the program kill itself after each record of its journal; the same command again must complete the job.
// (Row 26.) TestKilledAfterAnyRecordIsResumed of internal/jobs/job tests each record in every run.
func TestQuickKilled(t *testing.T) {
	l := sharedLab(t)
	for i, c := range []struct {
		event string
		nth   int
		job   Job
	}{
		{"plan", 1, fewRows()}, {"sorted", 1, someRows()}, {"written", 2, someRows()}, {"built", 1, fewRows()}, {"prepared", 1, fewRows()},
		{"sending", 1, fewRows()}, {"loaded", 1, fewRows()}, {"loaded", 4, fewRows()}, {"cleaned", 1, fewRows()},
	} {
		t.Run(c.event, func(t *testing.T) {
			onlyWhole(t, slices.Contains([]string{"plan", "built", "prepared", "cleaned"}, c.event) || c.nth == 4)
			o := survive(t, l, uint64(i), c.job, Fault{Kind: KillAt, When: at(c.event), Nth: c.nth})
			if len(o.Exits) != 2 {
				t.Errorf("exits %v: it should take just one run more", o.Exits)
			}
			for event, most := range map[string]int{"plan": 1, "built": 1, "prepared": 1, "loaded": c.job.Spec.Regions, "done": 1} {
				if n := count(o.Events, event); n > most {
					t.Errorf("%d records %q in the journal, at most %d make sense: %v", n, event, most, o.Events)
				}
			}
		})
	}
}

// sameTime returns a Pick with which the file that replaces an input also has its time.
func sameTime(t *testing.T) uint64 {
	for pick := range uint64(100) {
		r := rand.New(rand.NewPCG(pick, inputStream))
		r.Uint64() // choice of the file
		if r.IntN(2) == 1 && r.IntN(2) == 0 {
			return pick
		}
	}
	t.Fatal("no such pick")
	return 0
}

// wholeFaults are the kinds of the long half of the suite, which also has inputs that arrive late.
var wholeFaults = []string{Stop, RSPause, DNPause, NNPause, MasterPause, Move, Disable, string(AnswerDelay), string(RequestLate), BitFlip}

// TestQuickFault survives one fault of each kind.
func TestQuickFault(t *testing.T) {
	l := sharedLab(t)
	second := time.Second
	direct := fewRows()
	direct.Stage, direct.Files = "direct", 2
	compact := fewRows()
	compact.Compact, compact.Files, compact.Dir = true, 3, true
	blind := fewRows()
	blind.Verify = "off"
	for i, c := range []struct {
		job   Job
		fault Fault
	}{
		{compact, Fault{Kind: None}},
		{someRows(), Fault{Kind: Kill, When: at("sending")}},
		{someRows(), Fault{Kind: Term, When: at("written")}},
		{fewRows(), Fault{Kind: Stop, When: at("sending"), For: second}},
		{fewRows(), Fault{Kind: RSKill, When: at("sending"), For: second}},
		{direct, Fault{Kind: RSPause, When: at("sending"), For: 2 * second, Server: 1}},
		{someRows(), Fault{Kind: DNKill, When: at("sorted"), For: second}},
		{someRows(), Fault{Kind: DNPause, When: at("written"), For: 2 * second}},
		{someRows(), Fault{Kind: NNKill, When: at("sorted"), For: second}},
		{fewRows(), Fault{Kind: NNPause, When: at("built"), For: 2 * second}},
		{fewRows(), Fault{Kind: MasterKill, When: at("plan"), For: second}},
		{fewRows(), Fault{Kind: MasterPause, When: at("built"), For: 2 * second}},
		{fewRows(), Fault{Kind: Split, When: at("built"), Frozen: true, Pick: 700}},
		{fewRows(), Fault{Kind: Merge, When: at("built"), Frozen: true, Pick: 1}},
		{fewRows(), Fault{Kind: Move, When: at("sending"), Frozen: true, Pick: 500}},
		{fewRows(), Fault{Kind: Disable, When: at("built"), For: second}},
		{fewRows(), Fault{Kind: string(AnswerCut), Calls: 2}},
		{direct, Fault{Kind: string(AnswerCut), Calls: 2}},
		{fewRows(), Fault{Kind: string(AnswerSwallow), Calls: 1, For: second}},
		{fewRows(), Fault{Kind: string(AnswerDelay), Calls: 2, For: 2 * second}},
		{fewRows(), Fault{Kind: string(RequestCut), Calls: 2}},
		{fewRows(), Fault{Kind: string(RequestLate), Calls: 1, For: 3 * second}},
		{blind, Fault{Kind: InputChange, How: Replace, When: at("written"), Nth: 2, Between: true, Pick: sameTime(t)}},
		{blind, Fault{Kind: InputChange, How: Arrive, When: at("attempt"), Frozen: true}},
		{blind, Fault{Kind: BitFlip, How: flipUnseen, When: at("built"), Nth: 1, Between: true}},
		{blind, Fault{Kind: Recreate, How: dropped, When: at("loaded"), Nth: 2, Between: true}},
	} {
		t.Run(strings.TrimSpace(c.fault.Kind+" "+c.fault.How), func(t *testing.T) {
			onlyWhole(t, slices.Contains(wholeFaults, c.fault.Kind) || c.fault.How == Arrive)
			o := survive(t, l, uint64(100+i), c.job, c.fault)
			// The program must determine the server's result, and must not send the call again.
			if c.fault.Kind == string(AnswerCut) && (o.Calls != c.job.Spec.Regions || len(o.Exits) != 1) {
				t.Errorf("%d loading calls for %d regions in %d runs", o.Calls, c.job.Spec.Regions, len(o.Exits))
			}
			if o.Late {
				t.Error("a damaged file was loaded")
			}
			if slices.Contains([]string{Split, Merge, Move}, c.fault.Kind) && o.Note != "" {
				t.Errorf("the table did not change: %s", o.Note)
			}
		})
	}
}
