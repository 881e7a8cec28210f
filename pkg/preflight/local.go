package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strings"

	"bulkload/pkg/build"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"

	"golang.org/x/sys/unix"
)

// inputFacts is what was seen of the inputs without reading them.
type inputFacts struct {
	given bool
	err   error
	files int
	bytes int64 // as they lie there
	text  int64 // about how much text they hold
	more  bool  // there are more files than were looked at

	allowEmpty bool // that they hold nothing
}

const (
	// maxListed is how many files are looked at: enough to judge by.
	maxListed = 5000
	// maxOpened is how many of them are opened.
	maxOpened = 8
)

// askInputs lists the inputs and opens some of the files. What they hold is
// seen when a job opens them.
func (f *checkFacts) askInputs(ctx context.Context) {
	in := &f.inputs
	in.given, in.allowEmpty = len(f.spec.Inputs) > 0, f.spec.AllowEmpty
	opened, listed := 0, 0
	for _, input := range f.spec.Inputs {
		fsys, name, err := f.env.Resolve(input)
		if err == nil {
			var names []string // of empty files too: one that is being written may look so
			err = walkInput(ctx, fsys, path.Clean(name), func(name string, info fs.FileInfo) error {
				if err := errors.Join(source.CheckName(name), source.CheckKind(name, info.Mode())); err != nil {
					return err // to open a pipe would wait
				}
				if listed++; listed <= maxListed {
					names = append(names, name)
				}
				if info.Size() == 0 {
					return nil
				}
				if in.files++; in.files > maxListed {
					in.more = true
					return fs.SkipAll
				}
				in.bytes += info.Size()
				in.text += textSize(name, info.Size())
				if opened++; opened > maxOpened {
					return nil
				}
				return readable(ctx, fsys, name)
			})
			if err == nil || errors.Is(err, fs.SkipAll) {
				err = source.CheckClosed(ctx, fsys, names)
			}
		}
		if err != nil {
			in.err = fmt.Errorf("input %s: %w", input, err)
			return
		}
	}
}

// textSize is about how much text a file holds, by its name.
func textSize(name string, size int64) int64 {
	switch strings.ToLower(path.Ext(name)) {
	case ".gz", ".zst", ".parquet", ".parq", ".pq":
		return 4 * size
	}
	return size
}

// readable reads a byte of a file.
func readable(ctx context.Context, fsys hdfsio.FS, name string) error {
	file, err := fsys.Open(ctx, name)
	if err != nil {
		return err
	}
	_, err = file.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

// walkInput visits the files that an input means: as a job opens them, but
// for what only a reader would notice.
func walkInput(ctx context.Context, fsys hdfsio.FS, name string, visit func(string, fs.FileInfo) error) error {
	info, err := fsys.Stat(ctx, name)
	switch {
	case err == nil && info.IsDir():
		return walkDir(ctx, fsys, name, visit)
	case err == nil:
		return visit(name, info)
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(name, `*?[\`):
		return err
	}
	found := false
	err = walkPattern(ctx, fsys, "/", strings.Split(strings.TrimPrefix(name, "/"), "/"), func(name string, info fs.FileInfo) error {
		found = true
		if info.IsDir() {
			return walkDir(ctx, fsys, name, visit)
		}
		return visit(name, info)
	})
	if err == nil && !found {
		return fmt.Errorf("nothing matches the pattern: %w", fs.ErrNotExist)
	}
	return err
}

// walkDir visits the files below a directory, but for hidden ones.
func walkDir(ctx context.Context, fsys hdfsio.FS, dir string, visit func(string, fs.FileInfo) error) error {
	list, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range list {
		name := path.Join(dir, info.Name())
		if info.IsDir() {
			if err := source.CheckPartition(name); err != nil {
				return err
			}
		}
		switch {
		case hiddenName(info.Name()):
			continue
		case info.IsDir():
			err = walkDir(ctx, fsys, name, visit)
		default:
			err = visit(name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hiddenName(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
}

// walkPattern visits what matches, element by element.
func walkPattern(ctx context.Context, fsys hdfsio.FS, dir string, elements []string, visit func(string, fs.FileInfo) error) error {
	if len(elements) == 0 {
		info, err := fsys.Stat(ctx, dir)
		if err != nil {
			return err
		}
		return visit(dir, info)
	}
	first := elements[0]
	if !strings.ContainsAny(first, `*?[\`) {
		err := walkPattern(ctx, fsys, path.Join(dir, first), elements[1:], visit)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	list, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range list {
		ok, err := path.Match(first, info.Name())
		if err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		if !ok || hiddenName(info.Name()) && !hiddenName(first) {
			continue
		}
		if info.IsDir() {
			if err := source.CheckPartition(path.Join(dir, info.Name())); err != nil {
				return err
			}
		}
		if err := walkPattern(ctx, fsys, path.Join(dir, info.Name()), elements[1:], visit); err != nil {
			return err
		}
	}
	return nil
}

func checkInputs(in inputFacts) Check {
	const name = "inputs"
	switch {
	case !in.given:
		return Check{}
	case in.err != nil:
		return bad(name, "see that the path is right and that you may read it", "%s", oneLine{in.err})
	case (in.files == 0 || in.bytes == 0) && in.allowEmpty:
		return Doubtful(name, "see that the path is right", "the inputs hold nothing")
	case in.files == 0 || in.bytes == 0:
		return bad(name, setting.Textf("see that the path is right and the export complete; %s", source.AllowEmptyHint()), "the inputs hold nothing")
	case in.more:
		return good(name, "more than %d files", maxListed)
	}
	return good(name, "%d files, %s", in.files, spec.Size(in.bytes).Rounded())
}

// machineFacts is what this machine leaves to a job.
type machineFacts struct {
	dir      string // for sorted runs
	free     int64  // bytes there for an ordinary user
	freeErr  error
	files    int64 // that may be open at a time
	filesErr error
}

func (f *checkFacts) askMachine(context.Context) {
	m := &f.machine
	if m.dir = f.o.SpillDir; m.dir == "" {
		m.dir = os.TempDir()
	}
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

// writable makes a file in a directory and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "bulkload-check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// spillFor is about how much a job of so much text writes to local disk: none
// when all rows fit in memory. Measured are 0.6 of the text.
func spillFor(text int64, memory spec.Size) int64 {
	if memory == 0 {
		memory = spec.DefaultMemory
	}
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

// checkSpillLimit compares the bound that was set with what sorting takes.
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

// checkOpenFiles compares the limit with what a job opens: each sorted run,
// each worker's files, connections.
func checkOpenFiles(in inputFacts, m machineFacts, w build.WorkOptions) Check {
	const name = "open files"
	if m.filesErr != nil {
		return Check{}
	}
	workers, memory := int64(w.Workers), int64(w.Memory)
	if workers == 0 {
		workers = int64(runtime.GOMAXPROCS(0))
	}
	if memory == 0 {
		memory = int64(spec.DefaultMemory)
	}
	// A run is a worker's arena, a part of the memory.
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
