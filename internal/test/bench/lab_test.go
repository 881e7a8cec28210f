package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
)

// Config configures the measurements.
type Config struct {
	// Root is the checkout. Required.
	Root string
	// Dir is the directory for data, outputs, programs, the cluster and the result. Default build/bench in Root.
	Dir string
	// Rows is the number of rows of the plain cases; the large ones have multiples of it. Default 1,000,000.
	Rows int64
	// Rounds is the number of measured rounds of each tool, after the rounds that warm up. Default 5.
	Rounds int
	// LongRounds is the same for the cases scale50m and opinion20m. Default 1.
	LongRounds int
	// Seed of the data. Default 0.
	Seed uint64
	// Memory is bulkload's --memory in cases that do not set it. Default 512MiB.
	Memory string
	// Peers that the case run compares with: importtsv, spark. Default importtsv.
	Peers []string
	// PeerTasks is the number of concurrent map tasks, and of concurrent reduce tasks, of Hadoop's local runner. Default 1,
	// which is also Hadoop's.
	PeerTasks int
	// Baseline is the tag or commit of the program that the guard's cases compare with. Default: the newest release
	// tag before the commit that is checked out.
	Baseline string
	// Touch is the greatest amount of memory that is touched before a run, in bytes. Default 6 GiB, as much as any of
	// the tools takes.
	Touch int64
	// KeepCluster keeps a cluster that the Lab has started running, for later use.
	KeepCluster bool
	// Generator is the program that generates data when [dataEnv] says which. Default: this process generates the data, and its
	// memory then hides the peaks of others.
	Generator string
	// Log receives events. Default: none.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Dir = cmp.Or(c.Dir, filepath.Join(c.Root, "build", "bench"))
	c.Rows = cmp.Or(c.Rows, 1_000_000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.LongRounds = cmp.Or(c.LongRounds, 1)
	c.Memory = cmp.Or(c.Memory, "512MiB")
	if len(c.Peers) == 0 {
		c.Peers = []string{PeerImportTsv}
	}
	c.PeerTasks = cmp.Or(c.PeerTasks, 1)
	c.Touch = cmp.Or(c.Touch, warmBytes)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error for the first invalid field.
func (c Config) Validate() error {
	if c.Root == "" {
		return errors.New("bench: no checkout given")
	}
	if c.Rows < 0 || c.Rounds < 0 || c.LongRounds < 0 || c.PeerTasks < 0 {
		return errors.New("bench: rows, rounds and tasks must not be negative")
	}
	for _, p := range c.Peers {
		if p != PeerImportTsv && p != PeerSpark && p != PeerPut {
			return fmt.Errorf("bench: unknown peer %q: want %s, %s or %s", p, PeerImportTsv, PeerSpark, PeerPut)
		}
	}
	return nil
}

// Lab provides the resources of cases, and creates each when it is first needed. The caller closes it.
type Lab struct {
	Config
	bulkload string
	cluster  *testcluster.Cluster
	started  bool // this Lab has started the cluster
	before   *baseline
}

// NewLab returns a Lab. It creates nothing but its directory yet.
func NewLab(c Config) (*Lab, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Lab{Config: c}, os.MkdirAll(c.Dir, 0o755)
}

// Close removes the previous release, and stops the cluster if this Lab has started it, unless it is to be kept.
func (l *Lab) Close(ctx context.Context) error {
	var err error
	if l.before != nil {
		err = os.RemoveAll(l.path("baseline"))
		l.before = nil
	}
	if l.cluster == nil {
		return err
	}
	dir, stop := l.cluster.Dir(), l.started && !l.KeepCluster
	l.cluster.Close()
	l.cluster = nil
	if !stop {
		return err
	}
	return errors.Join(err, testcluster.Down(ctx, dir))
}

// path returns a path in the Lab's directory.
func (l *Lab) path(elem ...string) string { return filepath.Join(append([]string{l.Dir}, elem...)...) }

// program returns bulkload, built from the current checkout.
func (l *Lab) program(ctx context.Context) (string, error) {
	if l.bulkload != "" {
		return l.bulkload, nil
	}
	name := l.path("bulkload")
	if _, _, err := (command{argv: []string{"go", "build", "-trimpath", "-o", name, "./cmd/bulkload"}, dir: l.Root}).run(ctx); err != nil {
		return "", err
	}
	l.bulkload = name
	return name, nil
}

// ErrNoFloor means that the program with the minimal work is not next to the checkout.
var ErrNoFloor = errors.New("no ../shared/bench/floor next to the checkout")

// floor builds that program, which is a separate module.
func (l *Lab) floor(ctx context.Context) (string, error) {
	source := filepath.Join(l.Root, "..", "shared", "bench", "floor")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoFloor
	} else if err != nil {
		return "", err
	}
	name := l.path("floor")
	_, _, err := command{argv: []string{"go", "build", "-o", name, "."}, dir: source, env: append(os.Environ(), "GOWORK=off")}.run(ctx)
	return name, err
}

// file returns the file of a spec in a form, which it creates if necessary.
func (l *Lab) file(ctx context.Context, s data.Spec, f data.Form) (string, error) {
	dir := l.path("data")
	name := filepath.Join(dir, s.FileName(f))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	l.Log.Info("making data", "file", filepath.Base(name))
	if l.Generator == "" {
		return data.WriteFile(ctx, dir, s, f)
	}
	asked, err := json.Marshal(dataFile{dir, s, f})
	if err == nil {
		_, _, err = command{argv: []string{l.Generator}, env: append(os.Environ(), dataEnv+"="+string(asked))}.run(ctx)
	}
	return name, err
}

// dataEnv is the variable with the [dataFile] that this program writes instead of running tests.
const dataEnv = "BULKLOAD_BENCH_DATA"

// dataFile describes a file of rows.
type dataFile struct {
	Dir  string
	Spec data.Spec
	Form data.Form
}

// splits returns the split points of a table with n salts as a flag's value.
func splits(n int) string {
	var list []string
	for _, key := range partition.SaltSplits(n) {
		list = append(list, rowkey.String(key))
	}
	return strings.Join(list, ",")
}
