package estimate

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
)

// weightsOf returns the weights of the regions of an input from a sample of text bytes.
func weightsOf(t *testing.T, s spec.Spec, points [][]byte, workers int, text int64) []int64 {
	t.Helper()
	w, err := weigh(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), []spec.Family{jobtest.Family}, points, build.WorkOptions{Workers: workers}, text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWeightsOfTheWhole compares the weights of inputs that are read whole, as text and as Parquet, with each other and with the text's size.
func TestWeightsOfTheWhole(t *testing.T) {
	points := partition.SaltSplits(10)
	var all [][]int64
	for _, file := range []string{"check.csv", "check.parquet"} {
		all = append(all, weightsOf(t, jobtest.TableSpec(t, data.Check, jobtest.Export(t, file), ""), points, 2, weightText))
	}
	info, err := os.Stat(jobtest.Export(t, "check.csv"))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i, w := range all[0] {
		sum += w
		if off := math.Abs(float64(all[1][i])/float64(w) - 1); off > 0.02 {
			t.Errorf("region %d: %d bytes as CSV, %d as Parquet", i, w, all[1][i])
		}
	}
	if ratio := float64(sum) / float64(info.Size()); ratio < 0.7 || ratio > 1.3 {
		t.Errorf("the regions weigh %d bytes together, the input has %d", sum, info.Size())
	}
}

// TestWeightsOfTables checks that the weights of further tables follow those of the first, and depend on the contents of their rows.
func TestWeightsOfTables(t *testing.T) {
	s := jobtest.TableSpec(t, data.Check, jobtest.Export(t, "check.csv"), "")
	s.Table, s.Tables = "t", []spec.TableSpec{{Table: "narrow", Key: "id", Columns: []string{"hit_ind"}}, {Table: "again", Key: s.Key}}
	points := partition.SaltSplits(4)
	families := []spec.Family{jobtest.Family}
	shapes := []build.Shape{{Families: families, Splits: points}, {Families: families, Splits: [][]byte{[]byte("8")}}, {Families: families, Splits: points}}
	all, err := Weights(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), shapes, build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Tables = nil
	if alone := weightsOf(t, s, points, 2, weightText); len(all) != 4+2+4 || !slices.Equal(all[:4], alone) || !slices.Equal(all[6:], alone) {
		t.Fatalf("the regions weigh %v, those of the table alone %v", all, alone)
	}
	// A row has an id of 32 bytes and a letter.
	var rows int64
	if _, err := fmt.Sscanf(jobtest.DigestLine(t, "check", "skip"), "rows=%d", &rows); err != nil {
		t.Fatal(err)
	}
	if narrow := all[4] + all[5]; narrow < 32*rows || narrow > 34*rows {
		t.Errorf("the regions of a narrow table weigh %v, of %d rows", all[4:6], rows)
	}
}

// TestWeightsOfASample checks that a sample finds the sizes of all regions, independent of the number of workers, and that a region without
// sampled rows has a weight.
func TestWeightsOfASample(t *testing.T) {
	const rows = 200_000
	var b bytes.Buffer
	b.WriteString("id,v\n")
	truth := make([]float64, 5)
	for i := range rows {
		h := uint64(i+1) * 0x9e3779b97f4a7c15
		region := []int{0, 0, 0, 1, 1, 2, 3, 3, 3, 3}[(h>>32)%10] // none in the last region
		value := bytes.Repeat([]byte{'x'}, int((h>>20)%64))
		fmt.Fprintf(&b, "%d%016x,%s\n", region, h, value)
		truth[region] += float64(17 + 17 + len(value))
	}
	file := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	points := [][]byte{{'1'}, {'2'}, {'3'}, {'4'}}
	got := weightsOf(t, jobtest.CSVSpec(file), points, 1, int64(b.Len())/8)
	for i, w := range got[:4] {
		if off := math.Abs(float64(w)/truth[i] - 1); off > 0.1 {
			t.Errorf("region %d weighs %d, its rows have %.0f bytes", i, w, truth[i])
		}
	}
	if got[4] < 1 || got[4] > 1000 {
		t.Errorf("a region without rows weighs %d", got[4])
	}
	for workers := 2; workers < 4; workers++ {
		if again := weightsOf(t, jobtest.CSVSpec(file), points, workers, int64(b.Len())/8); !slices.Equal(got, again) {
			t.Errorf("%d workers: %v, one has %v", workers, again, got)
		}
	}
}

// TestWeightsPassOverBadRecords checks that bad records are ignored: the run, which reads the whole input, evaluates them.
func TestWeightsPassOverBadRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, []byte("id,v\na,1\n,2\nb,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := weightsOf(t, jobtest.CSVSpec(file), [][]byte{{'b'}}, 1, weightText); w[0] == 0 || w[0] != w[1] {
		t.Errorf("weights %v", w)
	}
	if err := os.WriteFile(file, []byte("id,v\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := weightsOf(t, jobtest.CSVSpec(file), [][]byte{{'b'}}, 1, weightText); w[0] != 0 || w[1] != 0 {
		t.Errorf("weights of nothing: %v", w)
	}
}
