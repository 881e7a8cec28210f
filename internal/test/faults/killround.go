package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testcluster"
)

// KillRound kills one command at random moments, changes the table's regions or files in between, gives the same command again
// until it ends by itself, and judges the tables by HBase's Java client. Make one by [Lab.KillRound].
type KillRound struct {
	Seed     uint64
	Command  string
	Problems []string // promises that were broken
	Refused  bool     // the last word is a refusal, which is right
	Exits    []int
	Errors   []string
	Between  []string // what happened between two attempts
	Empty    int      // directories without a file that are left in HBase's staging directory
	Took     time.Duration
	Hosts    bool // each attempt has a host of its own, and the state is in a table that all hosts reach

	lab      *Lab
	command  killedCommand
	rand     *rand.Rand
	dir      string
	state    string
	host     string // directory of the attempt's host
	table    string
	stage    string
	size     int  // records
	compacts bool // the table is one that HBase compacts
	tables   []string
	digests  map[string]string
	cells    map[string]int64
	before   string // digest of the table that a refusal leaves
	exported string // directory of an export
	want     []killRecord
}

// OK reports whether no promise was broken.
func (r *KillRound) OK() bool { return len(r.Problems) == 0 }

// String is a line for a log.
func (r *KillRound) String() string {
	verdict := "ok"
	switch {
	case !r.OK():
		verdict = "WRONG: " + strings.Join(r.Problems, "; ")
	case r.Refused:
		verdict = "ok, refused"
	}
	hosts := "one host"
	if r.Hosts {
		hosts = "hosts"
	}
	return fmt.Sprintf("seed %d | %s, %s, %d records, between %v | exits %v, %d empty directories | %.1fs | %s", r.Seed, r.Command, hosts, r.size, r.Between, r.Exits, r.Empty,
		r.Took.Seconds(), verdict)
}

func (r *KillRound) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// killsRoot is the directory on HDFS below which each round has its own. The commands of rounds run as HBase's user.
const killsRoot = "/tmp/kills"

// hbaseStaging is where HBase makes a directory for each load.
const hbaseStaging = "/hbase/staging"

// mostUnkilled is how often the command is given without a kill.
const mostUnkilled = 3

// KillRound does the round of a seed, of the command of a name, or of the one that the seed draws if that is empty. typical has
// how long commands take by themselves; the round draws its moments from it and keeps it up to date. The error says that the
// round could not be done.
func (l *Lab) KillRound(ctx context.Context, seed uint64, command string, typical map[string]time.Duration) (*KillRound, error) {
	all := killedCommands()
	r := &KillRound{lab: l, Seed: seed, rand: rand.New(rand.NewPCG(seed, 0x6b696c6c)), digests: map[string]string{}, cells: map[string]int64{}}
	r.command = all[seed%uint64(len(all))]
	if i := slices.IndexFunc(all, func(c killedCommand) bool { return c.name == command }); i >= 0 {
		r.command = all[i]
	}
	r.Command, r.size, r.compacts, r.Hosts = r.command.name, 100+r.rand.IntN(3000), r.rand.IntN(2) == 0, r.rand.IntN(3) == 0
	name := fmt.Sprintf("k%d-%x", seed, time.Now().UnixMilli())
	r.table, r.stage, r.dir = "faults:"+name, killsRoot+"/"+name, filepath.Join(l.Dir, name)
	if r.state = filepath.Join(r.dir, "state"); r.Hosts {
		r.state = "hbase:faults:states"
	}
	started := time.Now()
	err := r.do(ctx, typical)
	r.Took = time.Since(started)
	if err == nil && r.OK() {
		for _, table := range r.tables {
			_, e := l.admin(ctx, "drop", table)
			err = errors.Join(err, e)
		}
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return r, err
}

func (r *KillRound) do(ctx context.Context, typical map[string]time.Duration) error {
	if err := errors.Join(r.nextHost(), r.lab.Heal(ctx)); err != nil {
		return err
	}
	args, err := r.command.prepare(ctx, r)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	span := typical[r.Command]
	if span == 0 {
		span = 2 * time.Second
	}
	for range 1 + r.rand.IntN(3) {
		ended, err := r.attempt(ctx, args, time.Duration(r.rand.Int64N(int64(span))))
		if err != nil || ended {
			return errors.Join(err, r.judge(ctx))
		}
		if err := r.upheaval(ctx); err != nil {
			return err
		}
	}
	for range mostUnkilled {
		started := time.Now()
		ended, err := r.attempt(ctx, args, 0)
		if err != nil {
			return err
		}
		if ended {
			typical[r.Command] = time.Since(started)
			break
		}
	}
	return r.judge(ctx)
}

// nextHost makes the directory of the next attempt's host, and removes that of the one before, if each attempt has its own.
func (r *KillRound) nextHost() error {
	if r.host != "" && !r.Hosts {
		return nil
	}
	err := os.RemoveAll(cmp.Or(r.host, filepath.Join(r.dir, "host0")))
	r.host = filepath.Join(r.dir, fmt.Sprintf("host%d", len(r.Exits)))
	return errors.Join(err, os.MkdirAll(r.spill(), 0o755))
}

// spill is the directory of sorted rows of the attempt's host.
func (r *KillRound) spill() string { return filepath.Join(r.host, "spill") }

// attempt gives the command, and kills it after a while if that is not 0. It reports whether the command has ended with 0, or by
// a refusal that may be right.
func (r *KillRound) attempt(ctx context.Context, args []string, after time.Duration) (ended bool, err error) {
	if err := r.nextHost(); err != nil {
		return false, err
	}
	p, err := r.launch(args)
	if err != nil {
		return false, err
	}
	stop := r.lab.watch.begin(ctx, r.lab)
	defer stop()
	if after > 0 {
		select {
		case <-p.done:
		case <-time.After(after):
			p.signal(syscall.SIGKILL)
		}
	}
	if err := p.wait(ctx); err != nil {
		r.problem("%v", err)
	}
	r.Exits = append(r.Exits, p.exit)
	if p.exit != 0 {
		r.Errors = append(r.Errors, p.lastError())
	}
	file := filepath.Join(r.dir, fmt.Sprintf("attempt%d.err", len(r.Exits)))
	if err := os.WriteFile(file, p.stderr.Bytes(), 0o644); err != nil {
		return false, err
	}
	const refused, usage = 3, 2
	r.Refused = p.exit == refused && r.command.mayRefuse && slices.Contains(r.Between, compactAll) ||
		p.exit == usage && r.exported != "" && strings.Contains(p.lastError(), "it has a complete export") // killed when all was done
	return p.exit == 0 || r.Refused, ctx.Err()
}

func (r *KillRound) launch(args []string) (*process, error) {
	env := r.lab.environment("HADOOP_USER_NAME=hbase", "XDG_CACHE_HOME="+filepath.Join(r.host, "cache"), "BULKLOAD_SPILL_DIR="+r.spill())
	return launch(append([]string{r.lab.Program}, args...), env, r.lab.root)
}

// give gives a command that must end with 0, and returns what it prints.
func (r *KillRound) give(ctx context.Context, args ...string) (string, error) {
	p, err := r.launch(args)
	if err != nil {
		return "", err
	}
	if err := p.wait(ctx); err != nil {
		return "", err
	}
	if p.exit != 0 {
		return "", fmt.Errorf("%s: exit code %d: %s", args[0], p.exit, p.lastError())
	}
	return p.stdout.String(), nil
}

// create makes a table of the round. Versions are kept, so that a cell that another hides still counts.
func (r *KillRound) create(ctx context.Context, table string) error {
	args := []string{"create", table, "--family", family, "--versions", "5", "--splits", strings.Join(splits(2+r.rand.IntN(8)), ",")}
	if !r.compacts {
		args = append(args, "--attribute", "COMPACTION_ENABLED=false")
	}
	_, err := r.lab.admin(ctx, args...)
	return err
}

// expect notes what a table must hold in the end.
func (r *KillRound) expect(table string, rows []row) {
	sortRows(rows)
	r.tables = append(r.tables, table)
	r.digests[table], r.cells[table] = digest(rows, family), countCells(rows)
}

// upheaval changes the regions or the files of the table. What HBase refuses is left: a region that was just split cannot be
// merged.
func (r *KillRound) upheaval(ctx context.Context) error {
	what := drawUpheaval(r.rand)
	key := fmt.Sprintf("%06d", r.rand.IntN(1_000_000))
	var err error
	switch what {
	case "":
		return nil
	case Split:
		_, err = r.lab.admin(ctx, "split", r.table, key)
	case Merge:
		regions, e := r.lab.regions(ctx, r.table)
		if e != nil {
			return e
		}
		if len(regions) < 2 {
			return nil
		}
		i := r.rand.IntN(len(regions) - 1)
		_, err = r.lab.admin(ctx, "merge", r.table, first(regions[i].start), first(regions[i+1].start))
	case compactAll:
		if !r.compacts {
			return nil
		}
		_, err = r.lab.admin(ctx, "major-compact", r.table)
	case RSKill:
		n := r.rand.IntN(regionServers)
		if err = r.lab.cluster.Daemon(testcluster.RegionServer.Nth(n + 1)).Restart(ctx); err == nil {
			err = r.lab.Heal(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err == nil {
		r.Between = append(r.Between, what)
	}
	return nil
}

func (r *KillRound) judge(ctx context.Context) error {
	if err := r.lab.Heal(ctx); err != nil {
		return err
	}
	last := len(r.Exits) - 1
	if r.Exits[last] != 0 && !r.Refused {
		r.problem("no way on by the same command: exit code %d: %s", r.Exits[last], r.Errors[len(r.Errors)-1])
	}
	for _, table := range r.tables {
		got, err := r.lab.admin(ctx, "digest", table)
		if err != nil {
			return fmt.Errorf("digest of %s: %w", table, err)
		}
		want := r.digests[table]
		if r.Refused && r.before != "" {
			want = r.before
		}
		if got != want {
			r.problem("%s has %s, want %s", table, got, want)
		}
		if r.command.once && !r.compacts {
			if err := r.judgeCells(ctx, table); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.judgeExport(), r.judgeLeft(ctx))
}

// judgeCells compares the number of cells in the store files of a table.
func (r *KillRound) judgeCells(ctx context.Context, table string) error {
	files, err := r.lab.storeFiles(ctx, table)
	if err != nil {
		return err
	}
	var have int64
	for _, f := range files {
		have += f.cells
	}
	if have != r.cells[table] {
		r.problem("the store files of %s hold %d cells, want %d", table, have, r.cells[table])
	}
	return nil
}

// judgeLeft looks for what the command should have removed.
func (r *KillRound) judgeLeft(ctx context.Context) error {
	fsys, _, err := r.lab.env.Resolve("hdfs:///")
	if err != nil {
		return err
	}
	qualifier := strings.TrimPrefix(r.table, "faults:") // names of snapshots have no namespace
	for dir, of := range map[string]string{
		"/hbase/.hbase-snapshot": qualifier, hbaseStaging: qualifier, killsRoot: path.Base(r.stage), r.stage: "",
	} {
		infos, err := fsys.ReadDir(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, info := range infos {
			built := strings.HasSuffix(info.Name(), "-built") || info.Name() == path.Base(r.stage) && dir == killsRoot
			name := strings.NewReplacer(":", "_", "-", "_").Replace(info.Name())
			if built || !strings.Contains(name, strings.NewReplacer(":", "_", "-", "_").Replace(of)) {
				continue
			}
			if dir == hbaseStaging {
				// HBase chooses the name of its directory, and a process that is killed before the answer does not know it.
				if files, err := filesBelow(ctx, fsys, path.Join(dir, info.Name())); err != nil || len(files) == 0 {
					r.Empty++
					continue
				}
			}
			r.problem("left: %s/%s", dir, info.Name())
		}
	}
	spilled, err := os.ReadDir(r.spill())
	if err == nil && len(spilled) > 0 {
		r.problem("%d entries are left in the spill directory", len(spilled))
	}
	return err
}
