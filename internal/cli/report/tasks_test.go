package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/result"
)

// TestTasksOfAResult checks that a result of thousands of tasks stays small, that the file has all, and that the
// report begins with stragglers.
func TestTasksOfAResult(t *testing.T) {
	y := &result.YARN{Application: "application_1700000000000_0001", Maps: 1500, Reduces: 500, Failed: 1, Stragglers: 1}
	for i := range 2000 {
		kind := "map"
		if i >= 1500 {
			kind = "reduce"
		}
		y.Tasks = append(y.Tasks, result.Task{Kind: kind, Number: i % 1500, Attempts: 1, Node: "worker-17.cluster.example", Rows: 1_000_000, Bytes: 1 << 28,
			Shuffled: 1 << 27, Wall: time.Duration(i) * time.Second, Program: time.Second, Straggler: i == 7})
	}
	b, err := json.Marshal((&result.Result{YARN: y}).Summary())
	if err != nil || len(b) > 4<<10 || len(y.Tasks) != 2000 {
		t.Errorf("%v: a summary of %d bytes of %d tasks", err, len(b), len(y.Tasks))
	}
	r := tasksOf(y)
	if r.First[0].Kind != "map" || r.First[0].Number != 7 || !r.First[0].Straggler || r.First[1].Kind != "reduce" || r.First[1].Number != 499 || len(r.First)+len(r.Rest)+r.More != 2000 || !strings.Contains(r.Text, "1 attempt failed") {
		t.Errorf("%+v and %d tasks, %d more", r.First, len(r.Rest), r.More)
	}
}
