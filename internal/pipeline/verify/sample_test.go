package verify

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestSampleParts checks that the first row is read alone, then the rows of each region together, and each row alone if rows have their own times.
func TestSampleParts(t *testing.T) {
	var samples []manifest.Sample
	for _, key := range []string{"a", "b", "c", "m", "n", "z"} {
		samples = append(samples, manifest.Sample{Key: []byte(key)})
	}
	regions := []loader.Region{{End: []byte("b")}, {Start: []byte("b"), End: []byte("n")}, {Start: []byte("n")}}
	for _, c := range []struct {
		regions []loader.Region
		samples []manifest.Sample
		stamped bool
		want    string
	}{
		{regions, samples, false, "[a] [b c m] [n z] "},
		{regions[:1], samples[:1], false, "[a] "},
		{[]loader.Region{{}}, samples, false, "[a] [b c m n z] "},
		{regions, samples, true, "[a] [b] [c] [m] [n] [z] "},
		{regions, nil, false, ""},
	} {
		got := ""
		for _, part := range sampleParts(c.samples, c.regions, c.stamped) {
			var keys []string
			for _, s := range part {
				keys = append(keys, string(s.Key))
			}
			got += fmt.Sprint(keys, " ")
		}
		if got != c.want {
			t.Errorf("%d regions, stamped %t: %q, want %q", len(c.regions), c.stamped, got, c.want)
		}
	}
}

// TestSampleRequest checks that the bounds of a request for rows of the greatest length have no more bytes than HBase takes, and include the rows.
func TestSampleRequest(t *testing.T) {
	r := &sampleReader{manifest: &manifest.Manifest{}, facts: &cluster.Facts{}}
	for _, last := range []string{"b", strings.Repeat("b", hfile.MaxRowLen), strings.Repeat("\xff", hfile.MaxRowLen)} {
		q := r.request([]manifest.Sample{{Key: []byte("a")}, {Key: []byte(last)}})
		if string(q.Start) != "a" || len(q.Stop) > hfile.MaxRowLen || len(q.Stop) > 0 && string(q.Stop) <= last || len(q.Rows) != 2 {
			t.Errorf("up to %d bytes: the stop row has %d", len(last), len(q.Stop))
		}
	}
}
