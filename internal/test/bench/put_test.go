package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"bulkload/internal/test/bench/data"
)

// PeerPut copies finished HFiles with Hadoop's shell and loads them with HBase's loader. The time of reading, sorting and
// encoding is not measured.
const PeerPut = "put"

// put returns the tool that copies finished HFiles to HDFS and loads them with HBase's loader.
func (r *runner) put(ctx context.Context) (Tool, error) {
	l := r.lab
	vm, err := java()
	if err != nil {
		return Tool{}, err
	}
	program, err := l.program(ctx)
	if err != nil {
		return Tool{}, err
	}
	input, err := l.file(ctx, r.spec, data.Dump)
	if err != nil {
		return Tool{}, err
	}
	finished := l.path("finished")
	if err := os.RemoveAll(finished); err != nil {
		return Tool{}, err
	}
	argv := []string{program, "build", "--quiet", "--job=" + l.jobFile(r.spec.Table), "--input=" + input, "--format=dump", "--out=" + finished,
		"--splits=" + splits(r.spec.Regions), "--empty=store", "--memory=" + l.Memory, "--spill-dir=" + l.Dir}
	if _, _, err := (command{argv: argv, dir: l.Root}).run(ctx); err != nil {
		return Tool{}, err
	}
	only := l.path("finished-hfiles") // without the other files that build writes
	if err := errors.Join(os.RemoveAll(only), os.Mkdir(only, 0o755), os.Rename(filepath.Join(finished, "f"), filepath.Join(only, "f"))); err != nil {
		return Tool{}, err
	}
	files, err := filepath.Glob(filepath.Join(only, "f", "*"))
	if err != nil || len(files) == 0 {
		return Tool{}, errors.Join(err, errors.New("bench: build has left no HFiles"))
	}
	out := workDir + "/put-out"
	shell := javaArgs(vm, clientPath(r.cluster), "org.apache.hadoop.fs.FsShell", "-put", only, out)
	return Tool{Name: PeerPut, Rows: r.spec.Rows, Warm: warmFiles(files...), Run: func(ctx context.Context, _ int) (Sample, error) {
		return r.javaJob(ctx, shell, out)
	}}, nil
}
