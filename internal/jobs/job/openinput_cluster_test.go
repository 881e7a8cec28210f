package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/source"
)

// openInputs returns a directory on HDFS with a complete CSV file.
func openInputs(t *testing.T, env *cluster.Env) (hdfsio.FS, string) {
	t.Helper()
	fsys, dir, err := env.Resolve("hdfs:///tmp/open-input-" + testcheck.Name(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll(t.Context(), dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.RemoveAll(context.Background(), dir) })
	w := beginInput(t, fsys, dir+"/a.csv", []byte("id,v\na1,1\na2,2\n"))
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return fsys, dir
}

// smallBlock is the smallest block size that the NameNode allows.
const smallBlock = 1 << 20

func beginInput(t *testing.T, fsys hdfsio.FS, name string, content []byte) hdfsio.Writer {
	t.Helper()
	w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{BlockSize: smallBlock})
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// csvRows returns rows of text, about size bytes.
func csvRows(size int) (text []byte, rows int) {
	text = []byte("id,v\n")
	for len(text) < size {
		text, rows = fmt.Appendf(text, "r%07d,%s\n", rows, strings.Repeat("x", 100)), rows+1
	}
	return text, rows
}

// refusesOpen checks that an error refuses a file that is open for writing.
func refusesOpen(t *testing.T, what string, err error, name string) {
	t.Helper()
	if fail.KindOf(err) != fail.Input || !errors.Is(err, source.ErrSelection) || !strings.Contains(err.Error(), name+" is open for writing on HDFS") ||
		!strings.Contains(err.Error(), "hdfs debug recoverLease -path hdfs://"+name) {
		t.Errorf("%s: kind %d: %v", what, fail.KindOf(err), err)
	}
}

// TestInputThatIsOpenForWritingIsRefused checks the refusal whether its directory, a pattern or the file itself is the input, and whether it shows no
// byte or some of its blocks. When its writer has closed it, the same job loads all of it.
func TestInputThatIsOpenForWritingIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	for what, size := range map[string]int{"no byte is visible": smallBlock / 2, "one block is visible": smallBlock * 3 / 2} {
		t.Run(what, func(t *testing.T) {
			env := jobtest.ClusterEnv(t, cluster)
			fsys, dir := openInputs(t, env)
			text, rows := csvRows(size)
			name := dir + "/b.csv"
			w := beginInput(t, fsys, name, text)
			defer func() { _ = w.Abort() }()
			info, err := fsys.Stat(t.Context(), name)
			if want := int64(size) / smallBlock * smallBlock; err != nil || info.Size() != want {
				t.Fatalf("%d bytes are visible, want %d, %v", info.Size(), want, err)
			}
			s := spec.Spec{Table: jobtest.FreshTableAt(t, env, nil, nil), Key: "id", Columns: []string{"id", "v"}, Verify: "off"}
			state := t.TempDir()
			for _, input := range []string{dir, dir + "/*.csv", name} {
				s := s
				s.Inputs = []string{"hdfs://" + input}
				_, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), build.WorkOptions{})
				refusesOpen(t, "build "+input, err, name)
				var o RunOptions
				o.State.Dir = state
				_, err = Run(t.Context(), env, jobtest.Resolve(t, s), o)
				refusesOpen(t, "run "+input, err, name)
				r, err := preflight.Run(t.Context(), env, jobtest.Resolve(t, s), preflight.Options{})
				if err != nil || !slices.ContainsFunc(r.Checks, func(c preflight.Check) bool {
					return c.Severity == preflight.SeverityError && strings.Contains(c.Message.String(), name+" is open for writing on HDFS")
				}) {
					t.Errorf("check %s: %+v, %v", input, r, err)
				}
			}
			s.Inputs = []string{"hdfs://" + dir}
			var o RunOptions
			o.State.Dir = t.TempDir()
			_, err = RunParts(t.Context(), env, jobtest.Resolve(t, s), o)
			refusesOpen(t, "parts", err, name)
			noRows(t, cluster, s.Table)

			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			o.State.Dir = state
			if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), o); err != nil {
				t.Fatal(err)
			}
			got, err := cluster.AdminT(t).Digest(t.Context(), s.Table)
			if want := fmt.Sprintf("rows=%d ", rows+2); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("the table has %s, want %s, %v", got, want, err)
			}
		})
	}
}

// TestInputOfADeadWriterIsRefused checks that a lease is not recovered, and that the message explains how to do it.
func TestInputOfADeadWriterIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env, writer := jobtest.ClusterEnv(t, cluster), jobtest.ClusterEnv(t, cluster)
	_, dir := openInputs(t, env)
	fsys, _, err := writer.Resolve("hdfs://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	w, err := fsys.Create(ctx, dir+"/b.csv", hdfsio.CreateOptions{})
	if err == nil {
		_, err = w.Write([]byte("id,v\nb1,1\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	kill() // the file is neither closed nor its lease renewed
	s := spec.Spec{Table: "t", Key: "id", Columns: []string{"id", "v"}, Inputs: []string{"hdfs://" + dir}}
	_, err = build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), build.WorkOptions{})
	refusesOpen(t, "build", err, dir+"/b.csv")
}

// TestInputThatIsOpenedAgainIsNoticed checks that a file that is opened for writing while a job reads is refused before the load.
func TestInputThatIsOpenedAgainIsNoticed(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	fsys, dir := openInputs(t, env)
	k, err := build.OpenInput(t.Context(), env.Source, jobtest.Resolve(t, jobtest.CSVSpec("hdfs://"+dir)), build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := build.Recheck(t.Context(), k.Source); err != nil {
		t.Fatal(err)
	}
	w := beginInput(t, fsys, dir+"/b.csv", []byte("id,v\nb1,1\n"))
	defer func() { _ = w.Abort() }()
	refusesOpen(t, "before the load", build.Recheck(t.Context(), k.Source), dir+"/b.csv")
}
