package mapreduce

import (
	"cmp"
	"math"
	"slices"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/setting"
)

// Default sizes of the parts of the work. A task costs about five seconds of a core before it starts to work, so a few large tasks are
// better than many small ones.
const (
	bytesPerMap    = 256 << 20
	bytesPerReduce = 512 << 20
	maxMaps        = 2000
)

// Container is the size of a task's container, in MiB.
type Container struct {
	Memory int // total
	Heap   int // of the container's JVM
}

// Default sizes of containers, in MiB. The JVM of a task moves a few large records.
const (
	// DefaultMapMemory and DefaultReduceMemory suffice for the sort of a map's share, and for a chunk of each map.
	DefaultMapMemory    = 1024
	DefaultReduceMemory = 1024
	// MinMemory is the minimum of a container.
	MinMemory = 512

	mapHeap    = 160
	reduceHeap = 192
	// jvmRoom is the memory of a JVM besides its heap, and of Hadoop's child process that starts the program.
	jvmRoom = 128
)

// program returns the program's part of a container, in bytes: the program may exceed its own budget by an eighth.
func (c Container) program() spec.Size {
	left := max(c.Memory-c.Heap-jvmRoom, 64)
	return spec.Size(left-left/8) << 20
}

// tasksFor returns the number of tasks of size each for the given number of bytes.
func tasksFor(bytes, each int64, most int) int {
	return int(min(max((bytes+each-1)/each, 1), int64(most)))
}

// packRegions cuts regions into at most n consecutive ranges, so that the heaviest range is as light as n ranges allow: large regions
// are alone, small ones together. Ranges no heavier than enough are not cut further, even if there are fewer than n.
func packRegions(weights []int64, n int, enough int64) (all []build.Regions) {
	n = min(max(n, 1), len(weights))
	most := lightest(weights, n)
	sums := []int64{}
	for i, w := range weights {
		if last := len(all) - 1; i > 0 && sums[last]+w <= most {
			all[last].To, sums[last] = i+1, sums[last]+w
			continue
		}
		all, sums = append(all, build.Regions{From: i, To: i + 1}), append(sums, w)
	}
	for len(all) < n {
		at := -1
		for i, r := range all {
			if r.To-r.From > 1 && sums[i] > enough && (at < 0 || sums[i] > sums[at]) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		r := all[at]
		to, left := halve(weights[r.From:r.To])
		all = slices.Replace(all, at, at+1, build.Regions{From: r.From, To: r.From + to}, build.Regions{From: r.From + to, To: r.To})
		sums = slices.Replace(sums, at, at+1, left, sums[at]-left)
	}
	return all
}

// lightest returns the minimum, over all cuts into n consecutive ranges, of the heaviest range's weight.
func lightest(weights []int64, n int) int64 {
	low, high := slices.Max(weights), int64(0)
	for _, w := range weights {
		high += w
	}
	for low < high {
		most := low + (high-low)/2
		ranges, sum := 1, int64(0)
		for _, w := range weights {
			if sum+w > most {
				ranges, sum = ranges+1, 0
			}
			sum += w
		}
		if ranges <= n {
			high = most
		} else {
			low = most + 1
		}
	}
	return low
}

// halve cuts two or more weights so that the heavier side is as light as possible. It returns the index of the cut and the weight of the first side.
func halve(weights []int64) (to int, left int64) {
	most, sum, all := int64(math.MaxInt64), int64(0), int64(0)
	for _, w := range weights {
		all += w
	}
	for i, w := range weights[:len(weights)-1] {
		if sum += w; max(sum, all-sum) < most {
			most, to, left = max(sum, all-sum), i+1, sum
		}
	}
	return to, left
}

// reduceRanges returns the regions of each reduce. Without weights every region weighs the same, and all of them as much as the input. If
// the number of reduces is 0, it is chosen.
func reduceRanges(weights []int64, regions int, input int64, reduces int) []build.Regions {
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	if len(weights) != regions || total == 0 {
		total = max(input, int64(regions))
		weights = slices.Repeat([]int64{max(total/int64(regions), 1)}, regions)
	}
	if reduces > 0 {
		return packRegions(weights, reduces, 0)
	}
	return packRegions(weights, tasksFor(total, bytesPerReduce, regions), bytesPerReduce)
}

// openBlocks is the memory of a chunk in a merge besides its packed bytes: two unpacked blocks, whose last row may be longer.
const openBlocks = 192 << 10

// chunkSize returns a chunk size such that a reduce holds a chunk of every map within half of its memory, or in all of it if there are too many maps for
// that.
func chunkSize(memory spec.Size, maps int) int {
	return min(max(int(int64(memory)/2/int64(maps))-openBlocks, chunk.MinSize), chunk.DefaultSize)
}

// mostMaps returns the number of maps whose chunks a reduce can hold.
func mostMaps(memory spec.Size) int { return int(memory / (chunk.MinSize + openBlocks)) }

// fits returns an error if there are too many maps for the memory of a reduce.
func (w *Work) fits() error {
	if most := mostMaps(w.ReduceMemory); w.Maps > most {
		return fail.With(fail.Config, setting.Errorf("%d maps are too many: the containers of reduces hold the rows of %d at a time (give more with %s, or fewer %s)", w.Maps, most, setting.ReduceMemory, setting.Maps))
	}
	return nil
}

// chosenMaps returns the number of maps for the given bytes of input.
func chosenMaps(input int64, reduce Container) int {
	return tasksFor(input, bytesPerMap, min(maxMaps, mostMaps(reduce.program())))
}

// cutWork cuts a plan into tasks. Numbers that are zero are chosen.
func cutWork(p *share.Plan, maps, reduces int, m, r Container, workers int) *Work {
	regions := p.Regions()
	if maps == 0 {
		maps = chosenMaps(p.Bytes(), r)
	}
	maps = max(min(maps, len(p.Parts)), 1)
	return &Work{Schema: 1, Maps: maps, Reduces: reduceRanges(p.Weights, regions, p.Bytes(), reduces), ChunkSize: chunkSize(r.program(), maps),
		MapMemory: m.program(), ReduceMemory: r.program(), Workers: workers, Plan: p}
}

// Prediction holds the predicted resources of a job on YARN.
type Prediction struct {
	Maps         int           `json:"maps"`
	Reduces      int           `json:"reduces"`
	MapMemory    int           `json:"map_memory_mb"` // of a container, MiB
	ReduceMemory int           `json:"reduce_memory_mb"`
	ShuffleBytes int64         `json:"shuffle_bytes"`
	CoreTime     time.Duration `json:"core_ns"` // sum over all containers
}

// Measured values of jobs: processor time of a task before it starts to work, processor time of the ApplicationMaster, and bytes of packed
// rows for each byte of text.
const (
	taskTime    = 4500 * time.Millisecond
	masterTime  = 10 * time.Second
	packedShare = 0.6
)

// Predict predicts a job whose work takes the given time in one process, over all cores. shares are the regions' shares of its rows.
func (s Settings) Predict(input, text int64, shares []float64, work time.Duration) Prediction {
	p := Prediction{MapMemory: cmp.Or(s.MapMemory, DefaultMapMemory), ReduceMemory: cmp.Or(s.ReduceMemory, DefaultReduceMemory), ShuffleBytes: int64(packedShare * float64(text))}
	p.Maps = cmp.Or(s.Maps, chosenMaps(input, Container{Memory: p.ReduceMemory, Heap: reduceHeap}))
	weights := make([]int64, len(shares))
	for i, part := range shares {
		weights[i] = int64(part * float64(text))
	}
	p.Reduces = len(reduceRanges(weights, len(shares), input, s.Reduces))
	p.CoreTime = work + masterTime + time.Duration(p.Maps+p.Reduces)*taskTime
	return p
}
