package estimate

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// estimateOf runs [Run] with split points.
func estimateOf(t *testing.T, s spec.Spec, splits [][]byte, o Options) *Estimate {
	t.Helper()
	o.Splits = &splits
	e, err := Run(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// keysOf returns all keys of an input, one record after the other.
func keysOf(t *testing.T, s spec.Spec, modulus int) (keys [][]byte) {
	t.Helper()
	k, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := keygen.Parse(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	p, err := keygen.Compile(spec, keygen.Options{Regions: modulus})
	if err != nil {
		t.Fatal(err)
	}
	r := k.Source.NewReader()
	for split := range k.Source.Splits() {
		err := r.Read(t.Context(), split, func(b *source.Batch) error {
			for row := range b.Rows {
				var fields [][]byte
				for _, c := range p.Columns() {
					fields = append(fields, b.Field(row, slices.Index(k.Source.Columns(), c)))
				}
				key, err := p.Append(nil, fields)
				if err != nil {
					return err
				}
				keys = append(keys, key)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// TestExact compares the result of --exact with the keys of all records.
func TestExact(t *testing.T) {
	list := func(text string) [][]byte {
		s, err := partition.ParseSplits(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		table  data.Table
		file   string
		key    string
		splits [][]byte
	}{
		{data.Check, "check.csv", "", partition.SaltSplits(10)},
		{data.Check, "check.dump", "", partition.SaltSplits(50)},
		{data.Check, "check.parquet", "", partition.SaltSplits(3)},
		{data.Check, "check.csv", "check_id + '|' + id", list("2,8,AX,H,K,PP,T")},
		{data.Opinion, "opinion.csv", "", partition.SaltSplits(10)},
		{data.Opinion, "opinion.parquet", "buss_no + business_type + id", list("BN2,C,a")},
	} {
		t.Run(c.file, func(t *testing.T) {
			s := jobtest.TableSpec(t, c.table, jobtest.Export(t, c.file), "")
			if c.key != "" {
				s.Key = c.key
			}
			rows, keyBytes, shortest, longest := make([]int64, len(c.splits)+1), 0, math.MaxInt, 0
			keys := keysOf(t, s, len(c.splits)+1)
			for _, k := range keys {
				region := 0
				for _, split := range c.splits {
					if bytes.Compare(split, k) <= 0 {
						region++
					}
				}
				rows[region]++
				keyBytes, shortest, longest = keyBytes+len(k), min(shortest, len(k)), max(longest, len(k))
			}
			var seen atomic.Int64 // progress
			e := estimateOf(t, s, c.splits, Options{Exact: true, WorkOptions: build.WorkOptions{Events: progress.Events{OnRows: func(rows, _ int64) { seen.Add(rows) }}}})
			if seen.Load() != int64(len(keys)) {
				t.Errorf("%d of %d rows were reported", seen.Load(), len(keys))
			}
			var got []int64
			bytes := int64(0)
			for i, r := range e.Regions {
				got = append(got, r.Rows)
				bytes += r.Bytes
				if want := float64(r.Rows) / float64(len(keys)); math.Abs(r.Share-want) > 1e-9 {
					t.Errorf("region %d: share %v, not %v", i, r.Share, want)
				}
				if (r.Bytes > 0) != (r.Rows > 0) {
					t.Errorf("region %d: %d rows in %d bytes", i, r.Rows, r.Bytes)
				}
			}
			if off := e.HFileBytes - bytes; off < 0 || off > int64(len(rows)) { // each is rounded down
				t.Errorf("regions have %d bytes, their HFiles %d", bytes, e.HFileBytes)
			}
			if !slices.Equal(got, rows) || !e.Exact || e.Rows != int64(len(keys)) || e.CountedRows != e.Rows {
				t.Errorf("exact %t, rows %d of %d in %v, not %v", e.Exact, e.Rows, len(keys), got, rows)
			}
			if want := (Lengths{shortest, longest, float64(keyBytes) / float64(len(keys))}); e.KeyLength != want {
				t.Errorf("key lengths %+v, not %+v", e.KeyLength, want)
			}
		})
	}
}

// shapes are inputs for which samples may be wrong.
var shapes = []struct {
	name string
	spec data.Spec
	form data.Form
	sort bool // by the key
	key  string
	full bool // also with a million rows
}{
	{name: "even dump", form: data.Dump},
	{name: "even csv", form: data.CSV},
	{name: "half in one region", spec: data.Spec{RegionShare: 0.5}, form: data.Dump},
	{name: "a third in one query key", spec: data.Spec{KeyShare: 0.33}, form: data.CSV, full: true},
	{name: "parquet", spec: data.Spec{RegionShare: 0.2}, form: data.Parquet},
	{name: "sorted", form: data.Dump, sort: true},
	{name: "sorted, plain key", form: data.Dump, sort: true, key: "check_id + id", full: true},
}

// TestShares compares the shares in a sample with the shares of all rows, within the
// statistical error; for sorted rows, within the error due to the number of places.
func TestShares(t *testing.T) {
	shapes := shapes
	if race.Reduced(t) { // statistics are the same with the race detector
		shapes = shapes[:1]
	}
	for _, shape := range shapes {
		sizes := []int64{150_000, 150_000}
		if race.Reduced(t) {
			sizes = []int64{40_000}
		}
		if shape.full {
			sizes = append(sizes, 1_000_000)
		}
		t.Run(shape.name, func(t *testing.T) {
			worst := 0.0
			for i, rows := range sizes {
				seed := uint64(i + 1)
				spec := shape.spec
				spec.Table, spec.Rows, spec.Seed, spec.Regions = data.Check, rows, seed, 10
				dir := t.TempDir()
				input, err := data.WriteFile(t.Context(), dir, spec, shape.form)
				if err != nil {
					t.Fatal(err)
				}
				s := jobtest.TableSpec(t, data.Check, input, string(shape.form))
				splits := partition.SaltSplits(10)
				if shape.key != "" {
					s.Key, splits = shape.key, [][]byte{[]byte("2"), []byte("9"), []byte("A"), []byte("M"), []byte("MN"), []byte("X")}
				}
				if shape.sort {
					sortDump(t, input, s)
				}
				exact := estimateOf(t, s, splits, Options{Exact: true})
				sample := sampledShares(t, s, splits, rows, shape.sort)
				if exact.Rows != rows {
					t.Errorf("seed %d: %d rows, not %d", seed, exact.Rows, rows)
				}
				near(t, fmt.Sprintf("seed %d: rows", seed), sample.Rows, rows, totalBound(sample.CountedRows, rows))
				for i, r := range sample.Regions {
					share := exact.Regions[i].Share
					most := shareBound(share, sample.CountedRows, rows)
					if shape.sort { // each bound of a region is in one place
						most = 2 / float64(sample.CountPlaces)
					}
					off := math.Abs(r.Share - share)
					if worst = max(worst, off/max(most, 1e-9)); off > most+1e-9 {
						t.Errorf("seed %d, region %d: share %.4f, it is %.4f, at most %.4f off", seed, i, r.Share, share, most)
					}
				}
				if err := os.Remove(input); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("at most %.2f of the bound", worst)
		})
	}
}

// sampledShares estimates from a sample: for a million rows the default one, for fewer
// rows one with the same fraction of them and, if they are sorted, from as many places.
func sampledShares(t *testing.T, s spec.Spec, splits [][]byte, rows int64, sorted bool) *Estimate {
	t.Helper()
	split := int64(countSplit)
	if sorted {
		split = split * rows / 1_000_000
	}
	k, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), build.WorkOptions{SplitSize: split})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), jobtest.Family, splits, 1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Build(t.Context(), plan, k.Source, BuildOptions{Options: build.Options{Budget: k.Budget, SpillDir: t.TempDir()},
		sample: 1 << 20, count: countText * rows / 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sortDump sorts the records of a dump by their keys.
func sortDump(t *testing.T, name string, s spec.Spec) {
	t.Helper()
	keys := keysOf(t, s, 10)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	records := bytes.SplitAfter(text, []byte{0x10})[:len(keys)]
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	var out bytes.Buffer
	out.Grow(len(text))
	for _, i := range order {
		out.Write(records[i])
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCountWorkers checks that the counts do not depend on the number of workers.
func TestCountWorkers(t *testing.T) {
	input, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: data.Check, Rows: 20_000, Seed: 5, KeyShare: 0.1}, data.CSV)
	if err != nil {
		t.Fatal(err)
	}
	s := jobtest.TableSpec(t, data.Check, input, "csv")
	s.Regions = 10
	for _, o := range []Options{{}, {Exact: true}, {Suggest: 7}} {
		var first *Estimate
		for _, workers := range []int{1, 4} {
			o.Workers, o.Memory = workers, 256<<20
			e := estimateOf(t, s, partition.SaltSplits(10), o)
			if first == nil {
				first = e
			}
			if d := cmp.Diff(first, e, cmpopts.IgnoreUnexported(RegionEstimate{}),
				cmpopts.IgnoreFields(RegionEstimate{}, "Bytes"), // of the encoded sample, which has one file per worker
				cmpopts.IgnoreFields(Estimate{}, "OpenTime", "ReadTime", "WriteTime", "Memory", "Workers", "HFileBytes", "MoreMemory")); d != "" {
				t.Errorf("%+v: %d workers:\n%s", o, workers, d)
			}
		}
	}
}

// TestPlacesStandForAll draws places from files of many lengths: together they
// represent the whole of each kind, and each row has about the same weight.
func TestPlacesStandForAll(t *testing.T) {
	if race.On {
		t.Skip("statistics of large files")
	}
	dir := t.TempDir()
	s := jobtest.Spec(t, "check")
	// Files of increasing length, each for a region of its own.
	total := int64(0)
	for i := range 8 {
		rows := int64(500) << i
		name, err := data.WriteFile(t.Context(), dir, data.Spec{Table: data.Check, Rows: rows, Seed: uint64(i)}, data.Dump)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			name = pack(t, name)
		}
		s.Inputs = append(s.Inputs, name)
		total += rows
	}
	s.Format = "dump"
	k, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), build.WorkOptions{SplitSize: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	files, splits := k.Source.Files(), k.Source.Splits()
	places := choosePlaces(k.Source, 6<<20, 4, 1)
	text, size := 0.0, 0.0
	for _, p := range places {
		if f := files[splits[p.split].File]; f.Compression == "" && p.stands > 0 {
			text += p.stands
		}
	}
	for _, f := range files {
		if f.Compression == "" {
			size += float64(f.Size)
		}
	}
	if math.Abs(text-size) > 1 {
		t.Errorf("places stand for %.0f of %.0f bytes", text, size)
	}
	if !slices.IsSortedFunc(places, func(a, b countPlace) int { return a.split - b.split }) {
		t.Error("places are not in order")
	}
	plan, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), jobtest.Family, partition.SaltSplits(10), 1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Build(t.Context(), plan, k.Source, BuildOptions{Options: build.Options{Budget: k.Budget}, sample: 1 << 20, count: 6 << 20})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "rows", e.Rows, total, totalBound(e.CountedRows, total))
}
