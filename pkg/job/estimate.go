package job

import (
	"context"
	"math"
	"slices"
	"time"

	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// Estimate is what a build is expected to come to, told from a sample that
// was read, sorted and encoded as the build would.
type Estimate struct {
	Schema     int    `json:"schema"` // version of this form: 1
	Table      string `json:"table,omitempty"`
	Key        string `json:"key"`
	Files      int    `json:"files"`
	InputBytes int64  `json:"input_bytes"` // of the files as they lie there

	SampledRows int64 `json:"sampled_rows"`
	SampledText int64 `json:"sampled_text_bytes"`
	Places      int   `json:"sampled_places"`

	Rows       int64         `json:"rows"`
	Cells      int64         `json:"cells"`
	HFiles     int           `json:"hfiles"`
	HFileBytes int64         `json:"hfile_bytes"`
	Spills     bool          `json:"spills"`
	SpillBytes int64         `json:"spill_bytes"`
	Runs       int64         `json:"runs"`
	MoreMemory int64         `json:"more_memory"`  // that would be needed so that nothing spills
	Memory     int64         `json:"memory_bytes"` // peak, resident
	OpenTime   time.Duration `json:"open_ns"`      // finding files and where to cut them; as it was
	ReadTime   time.Duration `json:"read_ns"`      // pass 1, the sort included
	WriteTime  time.Duration `json:"write_ns"`     // pass 2
	Workers    int           `json:"workers"`

	Regions []RegionEstimate `json:"regions"`
}

// Time is that of the whole build.
func (e *Estimate) Time() time.Duration { return e.OpenTime + e.ReadTime + e.WriteTime }

// RegionEstimate is one region's part of the rows.
type RegionEstimate struct {
	Start Key     `json:"start"`
	Rows  int64   `json:"rows"`
	Share float64 `json:"share"`
}

const (
	// processMemory is what a process has beside its budget: the program,
	// stacks, tables of the runtime.
	processMemory = 20 << 20
	// fileOverhead is what an HFile has beside its blocks: trailer, file info,
	// the root index, a bloom chunk that is not full.
	fileOverhead = 4 << 10
	// A row takes longer in a build than in a sample: rows that stay in memory
	// outgrow processor caches and touch fresh pages, runs on disk compete with
	// the kernel's writing. Measured over ten builds of check and opinion, 1 to
	// 50 M rows: 1.03 to 1.5 in memory, 0.94 to 1.2 spilled.
	memoryFactor = 1.2
	spillFactor  = 1.05
)

// EstimateBuild reads a sample of the input and foretells what Build would
// make of all of it. Nothing is written but, if the build would spill, a part
// of that, to files without names.
func EstimateBuild(ctx context.Context, plan *Plan, in *source.Input, o BuildOptions) (*Estimate, error) {
	return estimateFrom(ctx, plan, in, o, sampleText)
}

// estimateFrom is EstimateBuild with a sample of so many bytes.
func estimateFrom(ctx context.Context, plan *Plan, in *source.Input, o BuildOptions, text int64) (*Estimate, error) {
	o = o.withDefaults()
	memory, err := o.sortMemory(in, plan)
	if err != nil {
		return nil, err
	}
	extent, err := in.Extent(ctx)
	if err != nil {
		return nil, fail(KindInput, err)
	}
	s := &sampleBuild{plan: plan, in: in, o: o, extent: extent, sample: text, full: extsort.Options{Workers: o.Workers, Memory: memory}}
	if err := s.run(ctx); err != nil {
		return nil, readError(locate(err, in))
	}
	return s.estimate(), nil
}

// Foretell opens the input of a spec and estimates its build. The regions and
// the family's settings are the table's; with split points given no cluster
// is asked and the settings are [DefaultFamily]'s.
func Foretell(ctx context.Context, env *Env, s Spec, splits *[][]byte, w WorkOptions) (*Estimate, error) {
	families, points := []Family{DefaultFamily(s.FamilyName())}, [][]byte(nil)
	if splits != nil {
		points = *splits
	} else {
		facts, err := env.tableFacts(ctx, s)
		if err != nil {
			return nil, err
		}
		families, points = facts.Families, facts.Splits
	}
	families, err := s.applyToAll(families)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	k, err := openInput(ctx, env, s, WorkOptions{}) // rejects of a sample are not kept
	if err != nil {
		return nil, err
	}
	plan, err := NewPlan(s, k.in.Columns(), families[0], points, time.Now().UnixMilli(), families[1:]...)
	if err != nil {
		return nil, err
	}
	opened := time.Since(start)
	e, err := EstimateBuild(ctx, plan, k.in, BuildOptions{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: k.budget})
	if err != nil {
		return nil, err
	}
	e.OpenTime = opened
	return e, nil
}

// tableFacts asks the cluster of the configuration about the spec's table.
func (e *Env) tableFacts(ctx context.Context, s Spec) (*Facts, error) {
	table, err := tableName(s)
	if err != nil {
		return nil, err
	}
	c, err := e.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return tableFacts(ctx, e, c, table, s.Families()...)
}

// estimate scales what the sample took to the whole input.
func (s *sampleBuild) estimate() *Estimate {
	e := &Estimate{Schema: 1, Table: s.plan.Table, Key: s.plan.Key.String(), SampledRows: s.rows, SampledText: s.text, Places: s.places,
		Rows: s.total, Workers: s.o.Workers, Memory: processMemory + s.o.heapFloor()/2}
	for _, f := range s.in.Files() {
		e.Files++
		e.InputBytes += f.Size
	}
	sizes := make([]float64, 0, len(s.regions))
	for i, rows := range s.regions {
		share := float64(rows) / float64(max(s.stored, 1))
		e.Regions = append(e.Regions, RegionEstimate{Start: s.plan.Ranges.Start(i), Rows: int64(share * float64(s.total)), Share: share})
		if rows > 0 {
			e.HFiles++
			sizes = append(sizes, share)
		}
	}
	if s.rows == 0 {
		return e
	}
	scale := float64(s.total) / float64(s.rows)
	times := func(n int64) int64 { return int64(float64(n) * scale) }
	e.HFiles *= len(s.plan.Families)
	e.Cells = times(s.cells)
	e.HFileBytes = times(s.out) + int64(e.HFiles)*fileOverhead
	e.Spills, e.Runs = s.forecast.Spills, s.forecast.Runs
	if s.bytes > 0 {
		e.SpillBytes = int64(float64(s.spilled) / float64(s.bytes) * float64(s.forecast.Written))
	}
	if e.Spills {
		e.MoreMemory = times(s.bytes) + e.Rows*extsort.IndexSize - s.full.Memory
	}
	e.Memory += s.forecast.Memory + int64(s.o.Workers)*max(s.plan.writerRoom(), s.in.ReaderMemory())
	// A sort of n rows takes n log n.
	deeper, whole := 1.0, spillFactor
	if !e.Spills {
		whole = memoryFactor
		deeper = math.Log2(float64(max(s.total, 2))) / math.Log2(float64(max(s.rows, 2)))
	}
	e.ReadTime = seconds(whole * ((s.readSeconds()+s.spill.Seconds())*scale/parallel(s.splitSizes(), s.o.Workers) + s.sorting.Seconds()*scale*deeper))
	// A file is made durable, and its directory when it gets its name.
	files := 2 * s.file.Seconds() * float64(e.HFiles)
	e.WriteTime = seconds(whole * (s.write.Seconds()*scale + files) / parallel(sizes, s.o.Workers))
	return e
}

// readSeconds is what reading the sample took, of all workers together.
func (s *sampleBuild) readSeconds() float64 {
	if s.timed == 0 {
		return s.read.Seconds() // of rows so few that there is nothing to tell
	}
	return s.read.Seconds() * float64(s.rows) / float64(s.timed)
}

// splitSizes are proportional to the work of each split.
func (s *sampleBuild) splitSizes() []float64 {
	sizes := make([]float64, 0, len(s.in.Splits()))
	files := s.in.Files()
	for _, split := range s.in.Splits() {
		f := files[split.File]
		switch {
		case f.Format == source.FormatParquet:
			sizes = append(sizes, float64(split.End-split.Start)*float64(s.value)/float64(max(s.rows, 1)))
		case f.Compression != "":
			sizes = append(sizes, float64(f.Size)*float64(s.extent.Text)/float64(max(s.packedSize(), 1)))
		default:
			sizes = append(sizes, float64(split.End-split.Start))
		}
	}
	return sizes
}

// packedSize is the size of text files as they lie there.
func (s *sampleBuild) packedSize() (n int64) {
	for _, f := range s.in.Files() {
		if f.Format != source.FormatParquet {
			n += f.Size
		}
	}
	return n
}

// parallel is how many workers are busy on average when they take pieces of
// these sizes, the largest first: fewer than there are where pieces are few
// or one is large.
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

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
