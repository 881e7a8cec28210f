package mapreduce

import (
	"bulkload/pkg/build"
	"bulkload/pkg/chunk"
	"bulkload/pkg/share"
	"bulkload/pkg/spec"
)

// Sizes by which work is cut when nothing is said. A task costs about five seconds of a core before it does anything, so that few large
// ones are better than many small ones.
const (
	bytesPerMap    = 256 << 20
	bytesPerReduce = 512 << 20
	mostMaps       = 2000
)

// Container is the size of a task's container, in MiB.
type Container struct {
	Memory int // all of it
	Heap   int // of the JVM in it
	Cores  int
}

// Sizes of containers when nothing is said, in MiB. The JVM of a task moves few large records.
const (
	// DefaultMapMemory and DefaultReduceMemory have room for the sort of a map's share, and for a chunk of each map.
	DefaultMapMemory    = 1024
	DefaultReduceMemory = 1024
	// LeastMemory is what a container needs in any case.
	LeastMemory = 512

	mapHeap    = 160
	reduceHeap = 192
	// jvmRoom is what a JVM takes beside its heap, and what Hadoop's child takes to start the program.
	jvmRoom = 128
)

// program is what is left of a container for the program, in bytes: it may exceed its own budget by an eighth.
func (c Container) program() spec.Size {
	left := max(c.Memory-c.Heap-jvmRoom, 64)
	return spec.Size(left-left/8) << 20
}

// tasksFor is how many tasks of some size there are for so many bytes.
func tasksFor(bytes, each int64, most int) int {
	return int(min(max((bytes+each-1)/each, 1), int64(most)))
}

// Weights are the shares of the regions in the bytes of a job; nil when they are not known, and all count the same.
type Weights []float64

// packRegions cuts regions into at most n ranges that follow each other, with about the same weight: large regions are alone, small ones
// together.
func packRegions(regions, n int, w Weights) (all []build.Regions) {
	n = min(max(n, 1), regions)
	weight := func(i int) float64 {
		if len(w) != regions {
			return 1
		}
		return w[i]
	}
	left := 0.0
	for i := range regions {
		left += weight(i)
	}
	for from := 0; from < regions; {
		ranges := n - len(all)
		to, sum := from+1, weight(from)
		// What is still to come gets a region for each range at least.
		for target := left / float64(ranges); to < regions && (ranges == 1 || regions-to >= ranges && sum+weight(to)/2 <= target); to++ {
			sum += weight(to)
		}
		all = append(all, build.Regions{From: from, To: to})
		left -= sum
		from = to
	}
	return all
}

// chunkSize lets a reduce hold a chunk of every map within half of its memory.
func chunkSize(memory spec.Size, maps int) int {
	return min(max(int(int64(memory)/2/int64(maps)), chunk.MinSize), chunk.DefaultSize)
}

// cutWork says how a plan is cut into tasks. Numbers that are zero are chosen.
func cutWork(p *share.Plan, maps, reduces int, w Weights, m, r Container, workers int) *Work {
	regions := len(p.Points) + 1
	if maps == 0 {
		maps = tasksFor(p.Bytes(), bytesPerMap, mostMaps)
	}
	maps = max(min(maps, len(p.Parts)), 1)
	if reduces == 0 {
		reduces = tasksFor(p.Bytes(), bytesPerReduce, regions)
	}
	return &Work{Schema: 1, Maps: maps, Reduces: packRegions(regions, reduces, w), ChunkSize: chunkSize(r.program(), maps),
		MapMemory: m.program(), ReduceMemory: r.program(), Workers: workers, Plan: p}
}
