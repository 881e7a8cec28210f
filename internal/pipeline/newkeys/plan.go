package newkeys

import (
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// A Plan is all that the files depend on besides the snapshot.
type Plan struct {
	Table      string // the new one, for names
	Key        keygen.Expr
	OldKey     keygen.Expr   // by which the old keys were made, whose columns Key may name; nil: it names none
	Families   []spec.Family // of the new table: one for each of the snapshot's, in their order
	Ranges     *partition.Ranges
	Now        time.Time     // by which cells of the snapshot have expired
	Choice     choice.Choice // of the snapshot's cells; a new key is made of the newest cells of its columns, chosen or not
	Versions   int           // of a column, the newest of the choice; 0: all that its family keeps
	Duplicates extsort.Policy
	Near       cells.Near // where the files are to be

	// Divided has the facts that processes share if each reads a part of the rows; nil: one process reads all.
	Divided *Divided
}

// Options has the resources of a build; the files do not depend on them.
type Options struct {
	build.Options
	RejectFile string // where the old keys of rows go that get no new key; needed if the budget allows any
}

// Rooms of a worker besides the sort.
const (
	writerRoom = 5 << 20   // an HFile's blocks, index, Bloom chunk and output buffers
	aheadRoom  = 8 << 20   // what a scan reads ahead, at most 64 KiB of a file where they are many
	fileRoom   = 256 << 10 // blocks of a file that is read, packed and not
)

// memory is how the budget is divided.
type memory struct {
	sort   int64 // of all workers
	worker int64 // of each in addition
	row    int   // most bytes of one row's cells
}

func (o Options) divide(s *snapshot.Snapshot, p *Plan) (memory, error) {
	files := int64(0)
	for _, r := range s.Regions {
		files = max(files, int64(r.Files))
	}
	workers := int64(o.Workers)
	row := int64(o.Memory) / workers / 8
	read := max(aheadRoom, files*(64<<10)) + files*fileRoom + row
	room := max(read, int64(len(p.Families))*writerRoom)
	m := memory{sort: int64(o.Memory) - workers*room - o.HeapFloor()/2, worker: room, row: int(row)}
	if m.sort < workers*extsort.MinMemory {
		return m, fail.Errorf(fail.Config, "memory of %s is too little for %s on this snapshot, whose largest region has %s, and %s: each needs %.0f MiB (give more with %s, or fewer %s)",
			o.Memory, setting.Count(o.Workers, "worker"), setting.Count(files, "file"), setting.Count(len(p.Families), "family"), float64(room+extsort.MinMemory)/(1<<20), setting.Memory, setting.Workers)
	}
	m.row = int(min(row, m.sort/workers/2))
	return m, nil
}

func tooLarge(n, most int) error {
	return setting.Errorf("%w: a row has %s or more, and %d are a worker's room for one (give more with %s, or fewer %s)", extsort.ErrMemory, setting.Count(n, "byte"), most, setting.Memory, setting.Workers)
}

// fileName returns the name of a region's HFile.
func (p *Plan) fileName(family string, region int) string {
	return hfile.Name("rekey %q %q %d %d %q", p.Table, family, p.Now.UnixMilli(), p.Choice.Since, p.Ranges.Start(region))
}

// sequence numbers rows in the order of their old keys: those of a part, and
// the parts, which are regions or cut out of them, in theirs.
func sequence(part int, row int64) uint64 { return uint64(part)<<sequenceRows | uint64(row) }

// sequenceRows is how many bits number the rows of a part.
const sequenceRows = 40

func placeOf(seq uint64) (part int, row int64) {
	return int(seq >> sequenceRows), int64(seq & (1<<sequenceRows - 1))
}
