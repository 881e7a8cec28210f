package checkpoint

import (
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
)

// TestWeightsStay checks that after a YARN job without output, the next one uses the same weights.
func TestWeightsStay(t *testing.T) {
	records, err := journal.Read(strings.NewReader(`{"seq":1,"time":"2026-01-01T00:00:00Z","event":"submitting","tag":"a","dir":"hdfs:///a","maps":2,"reduces":2,"weights":[5,9]}
{"seq":2,"time":"2026-01-01T00:00:01Z","event":"submitted","tag":"a","dir":"hdfs:///a","application":"application_1_0001","maps":2,"reduces":2,"weights":[5,9]}
{"seq":3,"time":"2026-01-01T00:00:02Z","event":"ended","tag":"a","how":"it failed"}
`))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Of(records)
	if err != nil || h.Submission != nil || !slices.Equal(h.Weights, []int64{5, 9}) {
		t.Errorf("%v, submission %+v, weights %v", err, h.Submission, h.Weights)
	}
}
