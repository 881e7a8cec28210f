package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcluster"
)

// TestKilledCommands kills each command that changes a table or writes files at random moments and records, with splits, merges,
// compactions and restarts of servers in between. BULKLOAD_KILLS is the number of rounds, BULKLOAD_KILLS_SEED the first seed,
// BULKLOAD_KILLS_COMMAND a command.
func TestKilledCommands(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Alone, len(killedCommands()), kills)
}

// TestDisturbedCommands kills and stops daemons, drops calls and answers, and splits and merges regions, while such a
// command runs.
func TestDisturbedCommands(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Alone, len(killedCommands()), disturbs)
}

// TestDisturbedShares does the same with processes that build files together.
func TestDisturbedShares(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Shares, len(killedBy(Shares)), disturbs)
}

// TestKilledShares does the same with the processes that build the files together and load them. A few rounds take seconds.
func TestKilledShares(t *testing.T) { killRounds(t, Shares, 2, kills) }

// TestKilledOnYARN does the same with commands whose files YARN builds, and with their tasks, their JVMs and their ApplicationMasters.
func TestKilledOnYARN(t *testing.T) {
	testcluster.NeedsYARN(t)
	killRounds(t, YARN, len(killedBy(YARN)), kills)
}

// killRounds runs rounds of an engine, and lists the positions of their kills.
func killRounds(t *testing.T, engine Engine, otherwise int, h harms) {
	l := sharedLab(t)
	rounds, seed := number(t, "BULKLOAD_KILLS", otherwise), number(t, "BULKLOAD_KILLS_SEED", 1)
	killed, hits, faults := map[string]int{}, 0, 0
	wrong := 0
	for i := range rounds {
		r, err := l.KillRound(t.Context(), uint64(seed+i), engine, os.Getenv("BULKLOAD_KILLS_COMMAND"), h)
		t.Log(r)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+i, err)
		}
		for _, k := range r.Kills {
			killed[r.Command+": "+k]++
			hits++
		}
		faults += len(r.Faults)
		if !r.OK() {
			wrong++
			for n, e := range r.Errors {
				t.Logf("error %d: %s", n+1, e)
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(killed)) {
		t.Logf("%3d × %s", killed[where], where)
	}
	t.Logf("%d rounds, %d kills, %d faults of the cluster", rounds, hits, faults)
	if wrong > 0 {
		t.Errorf("%d of %d rounds broke a promise", wrong, rounds)
	}
}

// number returns the number in an environment variable, or else the default.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// KillRound kills one command, or each of the commands that do its work by shares, at random moments and records. In between it
// changes the table's regions or files. It repeats the same command until it ends by itself, and checks the tables with HBase's
// Java client. [Lab.KillRound] creates one.
type KillRound struct {
	Seed     uint64
	Command  string
	Engine   Engine
	Problems []string // violated guarantees
	Refused  bool     // the final result is a refusal, which is right
	Exits    []int
	Errors   []string
	Between  []string // changes between two attempts
	Kills    []string // commands that were killed, and where
	Faults   []string // faults of the cluster while a command ran
	Empty    int      // empty directories that are left in HBase's staging directory
	Took     time.Duration
	Harms    harms
	Owners   []string // ends of stopped owners that continued
	Hosts    bool     // each attempt has its own host, and the state is in a table that all hosts reach

	lab      *Lab
	command  killedCommand
	rand     *rand.Rand
	dir      string
	shared   string // directory of shares, of inputs on HDFS
	state    string
	host     string // directory of the attempt's host
	table    string
	stage    string
	armed    <-chan struct{} // closed when the attempt's first call is disturbed, nil if none is to be
	size     int             // records
	compacts bool            // HBase compacts the table
	tables   []string
	digests  map[string]string
	cells    map[string]int64
	before   string          // digest of the table after a refusal
	exported string          // directory of an export
	earlier  map[string]bool // containers of YARN from before the round
	want     []killRecord
	stopped  []*stoppedOwner
}

// harms is what happens to the commands of a round.
type harms int

const (
	kills     harms = iota
	disturbs        // also daemons, calls and the table are disturbed while the command runs
	takeovers       // each attempt is on a host of its own, and an attempt may be stopped until a later one has its job
)

// OK reports whether no guarantee was violated.
func (r *KillRound) OK() bool { return len(r.Problems) == 0 }

// String returns a line for a log.
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
	return fmt.Sprintf("seed %d | %s by %s, %s, %d records, killed %q, disturbed by %v, between %v, continued %q | exits %v, %d empty directories | %.1fs | %s", r.Seed, r.Command, r.Engine,
		hosts, r.size, r.Kills, r.Faults, r.Between, r.Owners, r.Exits, r.Empty, r.Took.Seconds(), verdict)
}

func (r *KillRound) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// killsRoot is the directory on HDFS with the directories of the rounds. The commands of rounds run as HBase's user.
const killsRoot = "/tmp/kills"

// hbaseStaging is where HBase makes a directory for each load.
const hbaseStaging = "/hbase/staging"

// maxUnkilled is the number of attempts without a kill.
const maxUnkilled = 3

// otherState is the exit code of a program built for tests whose history differs from that of its journal.
const otherState = 97

// KillRound runs the round of a seed and an engine. command is the name of the command; if it is empty, the seed determines the command. The error
// means that the round could not be run.
func (l *Lab) KillRound(ctx context.Context, seed uint64, engine Engine, command string, h harms) (*KillRound, error) {
	all := killedBy(engine)
	r := &KillRound{lab: l, Seed: seed, Engine: engine, Harms: h, rand: rand.New(rand.NewPCG(seed, 0x6b696c6c)), digests: map[string]string{}, cells: map[string]int64{}}
	r.command = all[seed%uint64(len(all))]
	if i := slices.IndexFunc(all, func(c killedCommand) bool { return c.name == command }); i >= 0 {
		r.command = all[i]
	}
	r.Command, r.size, r.compacts, r.Hosts = r.command.name, 100+r.rand.IntN(3000), r.rand.IntN(2) == 0, r.rand.IntN(3) == 0 || h == takeovers
	if engine == Shares {
		r.size *= 8 // so that processes write for a while
	}
	name := fmt.Sprintf("k%d-%x", seed, time.Now().UnixMilli())
	r.table, r.stage, r.dir = "faults:"+name, killsRoot+"/"+name, filepath.Join(l.Dir, name)
	if r.state = filepath.Join(r.dir, "state"); r.Hosts {
		r.state = "hbase:faults:states"
	}
	if r.shared = filepath.Join(r.dir, "shared"); engine == YARN || r.rand.IntN(2) == 0 {
		r.shared = "hdfs://" + r.stage + "-built"
	}
	started := time.Now()
	err := r.do(ctx)
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

func (r *KillRound) do(ctx context.Context) error {
	if err := errors.Join(r.nextHost(), r.lab.Heal(ctx)); err != nil {
		return err
	}
	args, err := r.command.prepare(ctx, r)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	steps, err := r.steps(ctx, args)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	kills := r.drawKills(steps)
	for i, s := range steps {
		if ended, err := r.take(ctx, s, kills[i]); err != nil {
			return err
		} else if !ended {
			break
		}
	}
	if err := r.continueOwners(ctx); err != nil {
		return err
	}
	return r.judge(ctx)
}

// take runs a command, kills it the given number of times, and repeats it until it ends by itself. It reports whether
// it has.
func (r *KillRound) take(ctx context.Context, s killStep, kills int) (ended bool, err error) {
	for range kills {
		if ended, err := r.attempt(ctx, s, r.drawKilling(s)); err != nil || ended {
			return ended, err
		}
		if err := r.upheaval(ctx); err != nil {
			return false, err
		}
	}
	for range maxUnkilled {
		started := time.Now()
		if ended, err = r.attempt(ctx, s, nil); err != nil {
			return false, err
		}
		if ended {
			span := time.Since(started)
			if r.Harms == takeovers { // it may have waited for the silence of an owner
				span = 0
			}
			r.lab.learn(r.name(s), span, r.records(s))
			break
		}
	}
	return ended, nil
}

// nextHost creates the directory of the next attempt's host, and removes the previous one, if each attempt has its
// own.
func (r *KillRound) nextHost() error {
	if r.host != "" && !r.Hosts {
		return nil
	}
	var err error
	if !slices.ContainsFunc(r.stopped, func(o *stoppedOwner) bool { return o.host == r.host }) {
		err = os.RemoveAll(cmp.Or(r.host, filepath.Join(r.dir, "host0")))
	}
	r.host = filepath.Join(r.dir, fmt.Sprintf("host%d", len(r.Exits)))
	return errors.Join(err, os.MkdirAll(r.spill(), 0o755))
}

// spill returns the directory of sorted runs of the attempt's host.
func (r *KillRound) spill() string { return filepath.Join(r.host, "spill") }

// attempt runs a command, and kills it or one of its processes, if k is not nil. It reports whether the command has ended with 0, or
// with a refusal that may be right.
func (r *KillRound) attempt(ctx context.Context, s killStep, k *killing) (ended bool, err error) {
	if err := r.nextHost(); err != nil {
		return false, err
	}
	var environ []string
	if k != nil && k.record != "" {
		after := k.record
		if k.stops() {
			after += ":freeze"
		}
		environ = append(environ, "BULKLOAD_TEST_STOP_AFTER="+after)
	}
	before := r.shareFiles(ctx, s)
	if r.armed = nil; k != nil && k.fault.proxied() {
		r.armed = r.lab.proxies.Arm(Harm(k.fault.Kind), k.fault.Calls, k.fault.For)
		defer r.lab.proxies.Disarm()
	}
	p, err := r.launch(s.args, environ...)
	if err != nil {
		return false, err
	}
	stop := r.lab.watch.begin(ctx, r.lab)
	defer stop()
	r.wakeDuring(ctx, p)
	if k != nil {
		if err := r.kill(ctx, p, s, k, before); err != nil {
			return false, err
		}
		if k.stops() {
			if stopped, err := r.stopOwner(ctx, p, s, k); stopped || err != nil {
				return false, err
			}
		}
	}
	if err := p.wait(ctx); err != nil {
		r.problem("%v", err)
	}
	r.Exits = append(r.Exits, p.exit)
	r.awaitAwake(ctx)
	if p.exit != 0 {
		r.Errors = append(r.Errors, r.name(s)+": "+p.lastError())
	}
	if p.exit == otherState {
		r.problem("what the process knows is not what its journal says: %s", p.lastError())
	}
	if p.exit == 128+int(syscall.SIGKILL) {
		r.Kills = append(r.Kills, r.landed(ctx, s, k, before))
	}
	file := filepath.Join(r.dir, fmt.Sprintf("attempt%d.err", len(r.Exits)))
	if err := os.WriteFile(file, p.stderr.Bytes(), 0o644); err != nil {
		return false, err
	}
	const refused = 3
	r.Refused = p.exit == refused && r.command.mayRefuse && slices.Contains(r.Between, compactAll) || r.complete(p)
	if k != nil && k.fault.Kind != "" && p.exit != 0 {
		if kind, known := fail.KindOfExit(p.exit); known && !kind.Retry() && !r.Refused {
			r.problem("a cluster in trouble ends it with %d, as if no retry helped: %s", p.exit, p.lastError())
		}
		stop()
		err = r.lab.Heal(ctx)
	}
	return p.exit == 0 || r.Refused, errors.Join(err, ctx.Err())
}

func (r *KillRound) launch(args []string, more ...string) (*process, error) {
	env := r.lab.environment("HADOOP_USER_NAME=hbase", "XDG_CACHE_HOME="+filepath.Join(r.host, "cache"), "BULKLOAD_SPILL_DIR="+r.spill())
	if r.Engine == YARN {
		env = append(env, "HADOOP_HOME="+r.lab.cluster.HadoopHome(), "TMPDIR="+r.host)
	}
	argv := append([]string{r.lab.Program}, args...)
	if r.Harms == takeovers {
		return launchOn(r.host, argv, append(env, more...), r.lab.root)
	}
	return launch(argv, append(env, more...), r.lab.root)
}

// complete reports whether an export began after another attempt had written all of it: it is refused.
func (r *KillRound) complete(p *process) bool {
	const usage = 2
	return p.exit == usage && r.exported != "" && strings.Contains(p.lastError(), "it has a complete export")
}

// give runs a command that must end with 0, and returns its output.
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

// create creates a table of the round. It keeps versions, so that a cell that another one hides still counts.
func (r *KillRound) create(ctx context.Context, table string) error {
	args := []string{"create", table, "--family", family, "--versions", "5", "--splits", strings.Join(splits(2+r.rand.IntN(8)), ",")}
	if !r.compacts {
		args = append(args, "--attribute", "COMPACTION_ENABLED=false")
	}
	_, err := r.lab.admin(ctx, args...)
	return err
}

// expect records the rows that a table must have at the end.
func (r *KillRound) expect(table string, rows []row) {
	sortRows(rows)
	r.tables = append(r.tables, table)
	r.digests[table], r.cells[table] = digest(rows, family), countCells(rows)
}

// upheaval changes the regions or the files of the table. It ignores changes that HBase refuses: a region that was just
// split cannot be merged.
func (r *KillRound) upheaval(ctx context.Context) error {
	return r.upset(ctx, drawUpheaval(r.rand))
}

// upset makes one change.
func (r *KillRound) upset(ctx context.Context, what string) error {
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
