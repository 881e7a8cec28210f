package estimate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition/extsort"
)

// Estimate is the predicted result of a build, based on a sample that was read,
// sorted and encoded as in the build.
type Estimate struct {
	Schema     int    `json:"schema"` // version of this format: 1
	Table      string `json:"table,omitempty"`
	Index      string `json:"index,omitempty"` // name of the index if the table is one; else empty
	Key        string `json:"key"`
	Files      int    `json:"files"`
	InputBytes int64  `json:"input_bytes"` // of the files as stored

	Reading *progress.Reading `json:"reading,omitempty"` // how the files are read

	SampledRows int64 `json:"sampled_rows"`
	SampledText int64 `json:"sampled_text_bytes"`
	Places      int   `json:"sampled_places"`

	Rows       int64         `json:"rows"`
	Cells      int64         `json:"cells"`
	HFiles     int           `json:"hfiles"`
	HFileBytes int64         `json:"hfile_bytes"`
	Spills     bool          `json:"spills"`
	SpillBytes int64         `json:"spill_bytes"`
	SpillMost  int64         `json:"spill_most_bytes"` // the peak of SpillBytes on disk
	Runs       int64         `json:"runs"`
	MoreMemory int64         `json:"more_memory"`  // additional memory with which nothing would spill
	Memory     int64         `json:"memory_bytes"` // peak, resident
	OpenTime   time.Duration `json:"open_ns"`      // finding files and their splits; measured
	ReadTime   time.Duration `json:"read_ns"`      // pass 1, the sort included
	WriteTime  time.Duration `json:"write_ns"`     // pass 2
	Workers    int           `json:"workers"`

	// Rows, regions and the following fields are from a count of keys, which is larger than the sample.
	Exact       bool    `json:"exact"` // the whole input was counted
	CountedRows int64   `json:"counted_rows"`
	CountPlaces int     `json:"counted_places"`
	BadRecords  int64   `json:"bad_records"` // among the counted records
	KeyLength   Lengths `json:"key_length"`

	Modulus       int               `json:"modulus"`                  // of salts
	Splits        []rowkey.Key      `json:"splits"`                   // of the regions
	Suggested     bool              `json:"suggested"`                // the splits are quantiles of the keys
	Skew          float64           `json:"skew"`                     // a region with more than this multiple of its fair share is too large
	MaxRegionSize int64             `json:"max_region_bytes"`         // at which a region splits
	MaxRegionFrom string            `json:"max_region_bytes_setting"` // the origin of MaxRegionSize
	Regions       []RegionEstimate  `json:"regions"`
	QueryColumns  []string          `json:"query_columns"`
	HeavyKeys     []HeavyKey        `json:"heavy_keys"` // the query keys with the most rows, the heaviest first
	Warnings      []preflight.Check `json:"warnings"`

	// Tables are the estimates of the further tables of a job, in the order of loading. Reading and sorting are common to all tables:
	// runs, more_memory, memory, open and read have the common values in each estimate. The other fields are the table's own.
	Tables []*Estimate `json:"tables,omitempty"`
}

// All returns the estimates of all tables of the job, e first.
func (e *Estimate) All() []*Estimate { return slices.Concat([]*Estimate{e}, e.Tables) }

// Time returns the time of the whole build, for all tables.
func (e *Estimate) Time() time.Duration {
	all := e.OpenTime + e.ReadTime + e.WriteTime
	for _, t := range e.Tables {
		all += t.WriteTime
	}
	return all
}

// Lengths report the lengths of row keys, in bytes.
type Lengths struct {
	Min  int     `json:"min"`
	Max  int     `json:"max"`
	Mean float64 `json:"mean"`
}

// RegionEstimate is the estimate of one region.
type RegionEstimate struct {
	Start rowkey.Key `json:"start"` // empty for the first region
	End   rowkey.Key `json:"end"`   // empty for the last
	Rows  int64      `json:"rows"`
	Bytes int64      `json:"bytes"` // of its HFile
	Share float64    `json:"share"` // of the rows

	seen int64 // rows actually counted
}

// HeavyKey is a query key with many rows.
type HeavyKey struct {
	Values []string `json:"values"` // of the query columns, truncated to 256 bytes
	Rows   int64    `json:"rows"`
	Share  float64  `json:"share"` // of the rows; up to 0.0005 too low if there are many query keys
}

const (
	// processMemory is the memory of a process besides its budget: the program,
	// stacks, tables of the runtime.
	processMemory = 20 << 20
	// sampleText is the number of bytes of input in a sample: half a second's
	// work, and long compared with the start of a worker.
	sampleText = 48 << 20
	// Processing a row takes longer in a build than in a sample: rows that stay in
	// memory outgrow processor caches and touch fresh pages, runs on disk compete
	// with the kernel's writing. Measured over ten builds of check and opinion, 1
	// to 50 M rows: 1.03 to 1.5 in memory, 0.94 to 1.2 spilled.
	memoryFactor = 1.2
	spillFactor  = 1.05
	// buildSplit is the length of a build's split of text: the default of
	// [source.Options], longer than the splits of a plan's input.
	buildSplit = 8 << 20
)

// BuildOptions are the settings of the build, and the user's settings for its
// estimate.
type BuildOptions struct {
	build.Options
	Exact     bool    // count the keys of the whole input
	Suggest   int     // number of regions to find split points for, in place of the plan's; default 0: none
	Skew      float64 // warn of regions with more than this multiple of their fair share, default 2
	MaxRegion int64   // bytes at which a region splits, default 10 GiB

	maxRegionFrom string    // the origin of MaxRegion
	spillLimit    spec.Size // of the job; the sample has none
	query         []string  // columns of the query key
	readers       int       // of the sample, default Workers
	sample        int64     // bytes of text to build, default sampleText
	count         int64     // bytes of text to count, default countText
}

func (o BuildOptions) withDefaults() BuildOptions {
	o.Options = o.Options.WithDefaults()
	o.Skew = cmp.Or(o.Skew, 2)
	if o.MaxRegion == 0 {
		o.MaxRegion, o.maxRegionFrom = preflight.DefaultMaxRegion, "HBase's default"
	}
	o.readers = cmp.Or(o.readers, o.Workers)
	o.sample = cmp.Or(o.sample, sampleText)
	o.count = cmp.Or(o.count, countText)
	return o
}

// scaled estimates a build from a sample.
type scaled struct {
	*build.Sample
	plans []*cells.Plan // of all tables
	table int           // the one of the sample
}

// estimate scales the sample's measurements to the whole input, by its counted rows.
func (s *scaled) estimate(t *tally, o BuildOptions) *Estimate {
	e := newEstimate(s.Plan, o)
	e.SampledRows, e.SampledText, e.Places = s.Rows, s.TextBytes, s.Places
	for _, f := range s.Input.Files() {
		e.Files++
		e.InputBytes += f.Size
	}
	e.store(s.Plan, t)
	s.count(t)
	if s.Kept() == 0 || t.rows == 0 {
		return e
	}
	scale := float64(s.TotalRows) / float64(s.Kept())
	times := func(n int64) int64 { return int64(float64(n) * scale) }
	e.Cells = times(s.Cells)
	sizes := e.divide(s.Plan, t, float64(s.HFileBytes)*t.input/float64(max(s.ValueBytes, 1)))
	e.Spills, e.Runs = s.Forecast.Spills, s.Forecast.Runs
	if s.SortedBytes > 0 {
		packed := float64(s.SpilledBytes) / float64(s.SortedBytes)
		e.SpillBytes, e.SpillMost = int64(packed*float64(s.Forecast.Written)), int64(packed*float64(s.Forecast.Most))
	}
	if e.Spills {
		e.MoreMemory = times(s.SortedBytes) + e.Rows*extsort.IndexSize - s.Sort.Memory
	}
	e.Memory += s.Forecast.Memory + int64(s.Options.Workers)*max(encode.WriterRoom(s.Plan), s.Input.ReaderMemory())
	// Sorting n rows takes n log n.
	deeper, whole := 1.0, spillFactor
	if !e.Spills {
		whole = memoryFactor
		deeper = math.Log2(float64(max(s.TotalRows, 2))) / math.Log2(float64(max(s.Kept(), 2)))
	}
	e.ReadTime = progress.Seconds(whole * ((s.readSeconds()+s.SpillTime.Seconds())*scale/parallel(s.splitSizes(), s.Options.Workers) + s.SortTime.Seconds()*scale*deeper))
	// A file is synced, and its directory when the file is renamed.
	files := 2 * s.FileTime.Seconds() * float64(e.HFiles)
	busy := parallel(sizes, s.Options.Workers)
	if encode.Helped(s.Plan) {
		busy = max(busy, helped(sizes, s.Options.Workers))
	}
	e.WriteTime = progress.Seconds(whole * (s.WriteTime.Seconds()*scale + files) / busy)
	return e
}

// newEstimate returns an estimate without counts.
func newEstimate(plan *cells.Plan, o BuildOptions) *Estimate {
	return &Estimate{Schema: 1, Table: plan.Table, Key: plan.Key.String(), Workers: o.Workers, Memory: processMemory + o.HeapFloor()/2, Modulus: plan.Modulus,
		Suggested: o.Suggest > 0, Skew: o.Skew, MaxRegionSize: o.MaxRegion, MaxRegionFrom: o.maxRegionFrom, QueryColumns: o.query, HeavyKeys: []HeavyKey{}, Warnings: []preflight.Check{}}
}

// divide distributes the bytes of all HFiles' blocks over the regions, by their counts, and returns the shares of the regions that get rows.
func (e *Estimate) divide(plan *cells.Plan, t *tally, blocks float64) (shares []float64) {
	overhead := int64(len(plan.Families)) * build.FileOverhead
	for i := range e.Regions {
		if r := &e.Regions[i]; r.seen > 0 {
			shares = append(shares, r.Share)
			r.Bytes = int64(blocks*t.regions[i].bytes/t.bytes) + overhead
		}
	}
	e.HFiles = len(shares) * len(plan.Families)
	e.HFileBytes = int64(blocks) + int64(len(shares))*overhead
	return shares
}

// readSeconds returns the time for reading the sample, sum over all workers.
func (s *scaled) readSeconds() float64 {
	if s.TimedRows == 0 {
		return s.ReadTime.Seconds() // too few rows for a better value
	}
	return s.ReadTime.Seconds() * float64(s.Rows) / float64(s.TimedRows)
}

// splitSizes returns sizes that are proportional to the work of each split.
func (s *scaled) splitSizes() []float64 {
	sizes := make([]float64, 0, len(s.Input.Splits()))
	files, last := s.Input.Files(), -1
	for _, split := range s.Input.Splits() {
		f := files[split.File]
		switch {
		case f.Format.Traits().Rows:
			sizes = append(sizes, float64(split.End-split.Start)*float64(s.ValueBytes)/float64(max(s.Rows, 1)))
		case f.Compression != "":
			sizes = append(sizes, float64(f.Size)*float64(s.Extent.Text)/float64(max(s.packedSize(), 1)))
		case len(sizes) > 0 && split.File == last && sizes[len(sizes)-1] < buildSplit:
			sizes[len(sizes)-1] += float64(split.End - split.Start) // a build's splits are longer
		default:
			sizes = append(sizes, float64(split.End-split.Start))
		}
		last = split.File
	}
	return sizes
}

// packedSize returns the stored size of text files.
func (s *scaled) packedSize() (n int64) {
	for _, f := range s.Input.Files() {
		if !f.Format.Traits().Rows {
			n += f.Size
		}
	}
	return n
}

// parallel returns how many workers are busy on average when they take pieces
// of these sizes, the largest first: fewer than there are if pieces are few or
// one is large.
func parallel(sizes []float64, workers int) float64 {
	sizes = slices.Clone(sizes)
	slices.SortFunc(sizes, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	busy := make([]float64, max(workers, 1))
	sum := 0.0
	for _, n := range sizes {
		least := 0
		for i := range busy {
			if busy[i] < busy[least] {
				least = i
			}
		}
		busy[least] += n
		sum += n
	}
	if sum == 0 {
		return 1
	}
	return sum / slices.Max(busy)
}

// ownShare is the part of a region's pass 2 that one worker does regardless of
// helpers: the merge, the digest, and the copy of rows for others.
const ownShare = 0.3

// helped is parallel if workers without a piece help with the pieces of others.
func helped(sizes []float64, workers int) float64 {
	sum := 0.0
	for _, n := range sizes {
		sum += n
	}
	if sum == 0 {
		return 1
	}
	return min(float64(max(workers, 1)), sum/(ownShare*slices.Max(sizes)))
}
