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

// A Plan holds everything that determines the files, apart from the snapshot.
type Plan struct {
	Table      string // the new table, for file names
	Key        keygen.Expr
	OldKey     keygen.Expr   // the spec of the old keys, whose columns Key may name; nil: it names none
	Families   []spec.Family // of the new table: one for each of the snapshot's, in their order
	Ranges     *partition.Ranges
	Now        time.Time     // decides which cells of the snapshot have expired
	Choice     choice.Choice // of the snapshot's cells; a new key is made of the newest cells of its columns, chosen or not
	Versions   int           // per column, the newest of the choice; 0: all that its family keeps
	Duplicates extsort.Policy
	Near       cells.Near // the hosts on which files are to be written

	// Divided holds the common settings of processes that each read a part of the rows; nil: one process reads all.
	Divided *Divided
}

// Options are the settings of a build. They do not affect the files.
type Options struct {
	build.Options
	RejectFile string // for the old keys of rows without a new key; required if the budget allows any
}

// Memory of a worker besides the sort.
const (
	writerRoom = 5 << 20   // an HFile's blocks, index, Bloom chunk and output buffers
	aheadRoom  = 8 << 20   // a scan's read-ahead, at most 64 KiB per file if there are many
	fileRoom   = 256 << 10 // a file's current block, compressed and uncompressed
)

// memory is the division of the memory budget.
type memory struct {
	sort   int64 // of all workers
	worker int64 // additional memory of each worker
	row    int   // maximum bytes of one row's cells
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

// sequence numbers rows in the order of their old keys: by the part, which is a
// region or a part of one, then by the row within it.
func sequence(part int, row int64) uint64 { return uint64(part)<<sequenceRows | uint64(row) }

// sequenceRows is the number of bits for the rows of a part.
const sequenceRows = 40

func placeOf(seq uint64) (part int, row int64) {
	return int(seq >> sequenceRows), int64(seq & (1<<sequenceRows - 1))
}
