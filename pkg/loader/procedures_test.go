package loader

import (
	"testing"

	"bulkload/internal/hadoop/frames"
)

// TestParseRecovering checks which procedures of the master are recoveries of region servers that have not ended.
func TestParseRecovering(t *testing.T) {
	const crash, split = "org.apache.hadoop.hbase.master.procedure.ServerCrashProcedure", "org.apache.hadoop.hbase.master.assignment.SplitTableRegionProcedure"
	procedure := func(class string, state uint64) []byte {
		b := frames.AppendBytes(nil, procedureClass, []byte(class))
		b = frames.AppendNumber(b, 5, 1700000000000) // submitted_time
		return frames.AppendBytes(nil, proceduresList, frames.AppendNumber(b, procedureState, state))
	}
	for state := uint64(1); state <= 7; state++ { // INITIALIZING, RUNNABLE, WAITING, WAITING_TIMEOUT, ROLLEDBACK, SUCCESS, FAILED
		want := state != 5 && state != 6
		answer := append(procedure(split, 2), procedure(crash, state)...)
		if got, err := parseRecovering(append(answer, procedure(crash, 6)...)); got != want || err != nil {
			t.Errorf("state %d: %t, %v", state, got, err)
		}
	}
	if got, err := parseRecovering(procedure(split, 2)); got || err != nil {
		t.Errorf("a split: %t, %v", got, err)
	}
	if got, err := parseRecovering(nil); got || err != nil {
		t.Errorf("no procedure: %t, %v", got, err)
	}
	whole := procedure(crash, 2)
	if _, err := parseRecovering(whole[:len(whole)-1]); err == nil {
		t.Error("a cut answer is read")
	}
}
