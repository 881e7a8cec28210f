package mapreduce

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Names below a job's directory, and below its output.
const (
	// WorkName is also the name of the file in a task's working directory.
	WorkName       = "work.json"
	itemsName      = "items"
	partitionsName = "partitions"
	errorsName     = "errors"
	mapsName       = "maps"
	outName        = "out"

	reducesName = "_reduces"
	successName = "_SUCCESS"

	dirPrefix = "_yarn-"
)

// Work is the description of a job for its tasks.
type Work struct {
	Schema  int             `json:"schema"` // 1
	Tag     string          `json:"tag"`
	Dir     string          `json:"dir"`     // of the job, a URI
	Maps    int             `json:"maps"`    // shares of the input
	Reduces []build.Regions `json:"reduces"` // regions of each reduce; regions of further tables follow those of the first
	// ChunkSize is the size of chunks in bytes.
	ChunkSize int `json:"chunk_size"`
	// MapMemory and ReduceMemory are the memory of the program, in bytes, without its JVM.
	MapMemory    spec.Size   `json:"map_memory"`
	ReduceMemory spec.Size   `json:"reduce_memory"`
	Workers      int         `json:"workers"`                    // of a map
	Samples      int         `json:"samples"`                    // number of rows to sample from each region
	Filtered     bool        `json:"filtered_records,omitempty"` // maps write files of the records that the filter leaves out
	Plan         *share.Plan `json:"plan"`
	Checksum     string      `json:"checksum"`
}

// readWork reads the work file from a task's working directory.
func readWork(name string) (*Work, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fail.With(fail.Unexpected, err)
	}
	w := &Work{}
	if err := share.Unseal(b, w, &w.Checksum); err != nil {
		return nil, fail.Errorf(fail.Config, "%s: %w", name, err)
	}
	return w, w.validate()
}

// validate returns an error if the parts are inconsistent.
func (w *Work) validate() error {
	if w.Schema != 1 || w.Plan == nil || w.Maps < 1 || w.Maps > share.Most || len(w.Reduces) < 1 {
		return fail.Errorf(fail.Config, "%s has schema %d, %s and %s: it is not one of this version", WorkName, w.Schema, setting.Count(w.Maps, "map"), setting.Count(len(w.Reduces), "reduce"))
	}
	next := 0
	for i, r := range w.Reduces {
		if r.From != next || r.To <= r.From {
			return fail.Errorf(fail.Config, "%s: reduce %d has regions %d to %d, want regions from %d on", WorkName, i, r.From, r.To-1, next)
		}
		next = r.To
	}
	if next != w.Plan.Regions() {
		return fail.Errorf(fail.Config, "%s: the reduces have %s, the plan has %d", WorkName, setting.Count(next, "region"), w.Plan.Regions())
	}
	return nil
}

// items returns the lines of the job's input, one for each map.
func (w *Work) items() []byte {
	var b strings.Builder
	for k := 1; k <= w.Maps; k++ {
		fmt.Fprintf(&b, "%d/%d\n", k, w.Maps)
	}
	return []byte(b.String())
}

// partitionKeys returns the first key of each reduce but the first.
func (w *Work) partitionKeys() (keys [][]byte) {
	for _, r := range w.Reduces[1:] {
		keys = append(keys, binary.BigEndian.AppendUint32(nil, uint32(r.From)))
	}
	return keys
}

// below returns a location below the job's directory.
func (w *Work) below(conf *hdfsio.Conf, elem ...string) (hdfsio.Location, error) {
	l, err := conf.Resolve(w.Dir)
	return l.Join(elem...), fail.With(fail.Config, err)
}

// Ran holds the statistics of a task's successful attempt.
type Ran struct {
	Node  string    `json:"node,omitempty"` // its host
	Began time.Time `json:"began"`          // start of the program; the task's JVM, and a reduce's shuffle, have started before
	Ended time.Time `json:"ended"`
	Read  int64     `json:"read_bytes,omitempty"` // bytes of the input that a map read
	// Shuffled is the number of bytes that a map has passed to Hadoop, or a reduce has received.
	Shuffled int64 `json:"shuffled_bytes"`
}

// MapDone is a map's description of its work.
type MapDone struct {
	Schema  int    `json:"schema"` // 1
	Work    string `json:"work"`   // checksum of the work file
	Map     int    `json:"map"`    // share, from 1
	Attempt string `json:"attempt"`
	Rejects string `json:"rejects,omitempty"`  // name of the file of bad records next to it
	LeftOut string `json:"left_out,omitempty"` // name of the file of records that the filter leaves out, next to it
	Ran     Ran    `json:"ran"`
	build.PartRead
	Checksum string `json:"checksum"`
}

// ReduceDone is a reduce's description of its work.
type ReduceDone struct {
	Schema  int    `json:"schema"` // 1
	Work    string `json:"work"`
	Reduce  int    `json:"reduce"` // from 0
	Attempt string `json:"attempt"`
	Ran     Ran    `json:"ran"`
	build.Streamed
	Tables   []*build.Streamed `json:"tables,omitempty"` // of further tables
	Checksum string            `json:"checksum"`
}

// streamed returns the results for all tables.
func (d *ReduceDone) streamed() []*build.Streamed {
	return append([]*build.Streamed{&d.Streamed}, d.Tables...)
}

func reduceFile(i int) string { return path.Join(reducesName, fmt.Sprintf("r-%05d.json", i)) }
