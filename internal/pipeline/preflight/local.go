package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/listing"

	"golang.org/x/sys/unix"
)

// inputFacts describes the inputs, as far as it is known without reading them.
type inputFacts struct {
	given   bool
	err     error
	streams int // streams, which are not read
	tables  int // tables; no snapshot of them is taken for this
	files   int
	bytes   int64 // as stored
	text    int64 // approximate size of their text

	allowEmpty bool // the inputs may be empty
}

const maxOpened = 8

// askInputs lists the inputs as a job does, and opens some of the files. A job checks their contents when it opens them.
func (f *checkFacts) askInputs(ctx context.Context) {
	in := &f.inputs
	in.given, in.allowEmpty = len(f.spec.Inputs) > 0, f.spec.AllowEmpty
	if !in.given {
		return
	}
	s, inputs := f.options.Streams, f.spec.Inputs
	if s == nil {
		if s, in.err = streams.Find(ctx, f.env.Source, inputs, f.options.Stdin, nil); in.err != nil {
			return
		}
	}
	if f.options.Streams == nil || s.Lost() {
		if in.streams, inputs = s.Count(), s.Others(inputs); len(inputs) == 0 {
			return
		}
	}
	if inputs, in.err = f.mountSnapshots(ctx, inputs); in.err != nil || len(inputs) == 0 {
		return
	}
	files, err := source.List(ctx, s.Resolve, inputs, build.SelectionOf(f.spec))
	if in.err = err; err != nil {
		return
	}
	for i, file := range files {
		in.files++
		in.bytes += file.Size
		if in.text += textSize(file.Name, file.Size); cluster.IsTable(inputs[file.Input]) {
			in.text += 3 * file.Size // as for Parquet
		}
		if i >= maxOpened {
			continue
		}
		fsys, _, err := s.Resolve(inputs[file.Input])
		if err == nil {
			err = readable(ctx, fsys, file.Name)
		}
		if err != nil {
			in.err = fmt.Errorf("input %s: %w", inputs[file.Input], err)
			return
		}
	}
}

// mountSnapshots mounts the snapshots among the inputs, and leaves out tables: the job takes a snapshot of each.
func (f *checkFacts) mountSnapshots(ctx context.Context, inputs []string) (others []string, err error) {
	for _, input := range inputs {
		switch {
		case !cluster.IsTable(input) || f.env.Mounted(input):
		case strings.HasPrefix(input, cluster.TableScheme):
			f.inputs.tables++
			continue
		default:
			if _, err := tablesource.Mount(ctx, f.env, []string{input}, tablesource.ByFiles, f.spec.Choice(), f.spec.KeyParser); err != nil { // there is nothing to delete
				return nil, err
			}
		}
		others = append(others, input)
	}
	return others, nil
}

// textSize estimates the size of a file's text, by its name.
func textSize(name string, size int64) int64 {
	if source.Packed(name) {
		return 4 * size
	}
	return size
}

// readable reads a byte of a file.
func readable(ctx context.Context, fsys source.FS, name string) error {
	file, err := fsys.Open(ctx, name)
	if err != nil {
		return err
	}
	_, err = file.Read(make([]byte, 1))
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, file.Close())
}

func checkInputs(in inputFacts) Check {
	const name = "inputs"
	switch {
	case !in.given:
		return Check{}
	case fail.KindOf(fail.With(fail.Input, in.err)) == fail.HDFS:
		return bad(name, "see that it is up, and that this machine reaches it", "%s", oneLine{in.err}).later(fail.HDFS)
	case in.err != nil:
		return bad(name, "check the path and your right to read it", "%s", oneLine{in.err})
	case in.tables > 0:
		return good(name, "%s, %s, and %s, which are not checked before the job reads them", setting.Count(in.files, "file"), spec.Size(in.bytes).Rounded(), setting.Count(in.tables, "table"))
	case in.streams > 0:
		return good(name, "%s, %s, and %s, which are not read before the job runs", setting.Count(in.files, "file"), spec.Size(in.bytes).Rounded(), setting.Count(in.streams, "stream"))
	case (in.files == 0 || in.bytes == 0) && in.allowEmpty:
		return Doubtful(name, "check the path", "the inputs are empty")
	case in.files == 0 || in.bytes == 0:
		return bad(name, setting.Textf("check that the path is right and the export complete; %s", listing.AllowEmptyHint()), "the inputs are empty")
	}
	return good(name, "%s, %s", setting.Count(in.files, "file"), spec.Size(in.bytes).Rounded())
}

type machineFacts struct {
	dir      string // for sorted runs
	free     int64  // bytes available there to an ordinary user
	freeErr  error
	files    int64 // maximum number of open files
	filesErr error
}

func (f *checkFacts) askMachine(context.Context) {
	m := &f.machine
	m.dir = cmp.Or(f.options.SpillDir, os.TempDir())
	var st unix.Statfs_t
	if err := unix.Statfs(m.dir, &st); err != nil {
		m.freeErr = &fs.PathError{Op: "statfs", Path: m.dir, Err: err}
	} else {
		m.free = int64(min(st.Bavail, math.MaxInt64/uint64(st.Bsize))) * int64(st.Bsize)
		m.freeErr = writable(m.dir)
	}
	var limit unix.Rlimit
	m.filesErr = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	m.files = int64(min(limit.Cur, math.MaxInt64))
}

// writable creates a file in a directory and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "bulkload-check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// spillFor returns the approximate number of bytes that a job with that much text writes
// to local disk: none if all rows fit in memory. The measured ratio is 0.6 of the text.
func spillFor(text int64, memory spec.Size) int64 {
	memory = cmp.Or(memory, spec.DefaultMemory)
	if text < int64(memory)*2/3 {
		return 0
	}
	return text * 7 / 10
}

func checkSpill(in inputFacts, m machineFacts, memory spec.Size) Check {
	const name = "spill directory"
	hint := setting.Textf("name another directory with %s", setting.SpillDir)
	need := spillFor(in.text, memory)
	switch {
	case m.freeErr != nil:
		return bad(name, hint, "%s", oneLine{m.freeErr})
	case in.err == nil && need > m.free && need/3 > m.free:
		return bad(name, hint, "%s has %s free; sorting this input takes about %s", m.dir, spec.Size(m.free).Rounded(), spec.Size(need).Rounded())
	case in.err == nil && need > m.free:
		return Doubtful(name, hint, "%s has %s free; sorting this input may take %s", m.dir, spec.Size(m.free).Rounded(), spec.Size(need).Rounded())
	case need == 0 && in.text > 0:
		return good(name, "%s: not needed, the rows fit in memory", m.dir)
	}
	return good(name, "%s has %s free", m.dir, spec.Size(m.free).Rounded())
}

// checkSpillLimit compares the configured limit with the expected spill.
func checkSpillLimit(in inputFacts, w build.WorkOptions) Check {
	const name = "spill limit"
	need := spillFor(in.text, w.Memory)
	switch {
	case w.SpillLimit == 0 || in.err != nil || in.text == 0:
		return Check{}
	case need > int64(w.SpillLimit):
		return Doubtful(name, setting.Textf("give more with %s, or more %s, or take the input in parts", setting.SpillLimit, setting.Memory), "sorting this input may take %s of disk, %s allows %s",
			spec.Size(need).Rounded(), setting.SpillLimit, spec.Size(w.SpillLimit).Rounded())
	}
	return good(name, "%s; sorting this input may take %s", spec.Size(w.SpillLimit).Rounded(), spec.Size(need).Rounded())
}

// checkOpenFiles compares the limit with the number of files that a job opens:
// each sorted run, each worker's files, connections.
func checkOpenFiles(in inputFacts, m machineFacts, w build.WorkOptions) Check {
	const name = "open files"
	if m.filesErr != nil {
		return Check{}
	}
	workers, memory := int64(cmp.Or(w.Workers, runtime.GOMAXPROCS(0))), int64(cmp.Or(w.Memory, spec.DefaultMemory))
	// A run is a worker's arena, which is a part of the memory.
	runs := spillFor(in.text, spec.Size(memory)) / max(memory/(2*workers), 1)
	need := 128 + 8*workers + runs
	hint := setting.Textf("raise the limit: ulimit -n %d, LimitNOFILE in a systemd unit; or give more %s, which makes fewer runs", max(2*need, 4096), setting.Memory)
	switch {
	case m.files < need/2:
		return bad(name, hint, "the limit of open files is %d; this job may have %d open", m.files, need)
	case m.files < need:
		return Doubtful(name, hint, "the limit of open files is %d; this job may have %d open", m.files, need)
	}
	return good(name, "the limit is %d", m.files)
}
