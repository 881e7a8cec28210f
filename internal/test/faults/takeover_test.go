package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// TestTakenOver kills or stops each command whose state all hosts share, and repeats it on another host, which takes the job over. Stopped
// owners continue while the other host works, or when it has ended: they must neither record nor load.
func TestTakenOver(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Alone, len(killedCommands()), takeovers)
}

// TestSharesTakenOver does the same with the commands that load what shares have built.
func TestSharesTakenOver(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Shares, len(killedBy(Shares)), takeovers)
}

// TestYARNTakenOver does the same with commands whose files YARN builds.
func TestYARNTakenOver(t *testing.T) {
	testcluster.NeedsYARN(t)
	killRounds(t, YARN, len(killedBy(YARN)), takeovers)
}

// The ways to stop a command instead of killing it.
const (
	anywhere     = "anywhere"
	whileSending = "while it sends"
)

// drawStop draws how a command is stopped; empty: it is killed.
func (r *KillRound) drawStop(s killStep) string {
	if r.Harms != takeovers || !s.journal {
		return ""
	}
	return oneOf(r.rand, "", anywhere, anywhere, whileSending, whileSending)
}

// last returns the event after which nothing is left to do.
func (c killedCommand) last() string {
	if c.name == "undo" || c.name == "restore" {
		return "undone"
	}
	return "done"
}

func (k *killing) stops() bool { return k.stop != "" }

// copies returns the pattern of the copies of the round's shared journals on the attempt's host.
func (r *KillRound) copies() string {
	_, name, _ := strings.Cut(r.table, ":")
	return filepath.Join(r.host, "cache", "bulkload", "state", "*", "*"+name+"*", "journal.jsonl")
}

// owns reports whether a program has recorded, in one of the journals, its attempt and then text.
func owns(p *process, journals, text string) bool {
	names, _ := filepath.Glob(journals)
	return slices.ContainsFunc(names, func(name string) bool {
		b, _ := os.ReadFile(name)
		_, since, begun := strings.Cut(string(b), fmt.Sprintf(`"pid":%d,`, p.pid))
		return begun && strings.Contains(since, text)
	})
}

// awaitRecord waits until a program has recorded its attempt and then text. It reports false if the program has ended, or is stopped, before.
func awaitRecord(ctx context.Context, p *process, journals, text string) bool {
	for p.running() && pause(ctx, journalPoll) == nil {
		if owns(p, journals, text) {
			return true
		}
		if still, _ := p.still(); still {
			return false
		}
	}
	return false
}

// stoppedOwner is an attempt that is stopped while another one takes over its job.
type stoppedOwner struct {
	*process
	name  string
	host  string
	wake  moment
	delay time.Duration // after that moment
	awake atomic.Bool
	free  bool // it has not begun the job, or has finished it
}

// moment is when a stopped owner continues.
type moment string

const (
	atEnd   moment = "after all other attempts"
	atTaken moment = "after the job was taken over"
	atRace  moment = "about when the job is taken over"
)

// stopOwner stops an attempt, unless it stops itself. It reports false if the attempt has ended before.
func (r *KillRound) stopOwner(ctx context.Context, p *process, s killStep, k *killing) (bool, error) {
	for k.record != "" && p.running() {
		if still, err := p.still(); still || err != nil {
			break
		}
		if err := pause(ctx, journalPoll); err != nil {
			return false, err
		}
	}
	if err := p.freeze(ctx); err != nil || !p.running() {
		return false, err
	}
	o := &stoppedOwner{process: p, host: r.host, wake: oneOf(r.rand, atEnd, atEnd, atTaken, atTaken, atRace)}
	o.name = fmt.Sprintf("%s (%s)", r.landed(ctx, s, &killing{}, nil), k.stop)
	o.free = !owns(p, r.copies(), "") || owns(p, r.copies(), `"event":"`+r.command.last()+`"`)
	o.delay = time.Duration(r.rand.Int64N(int64(1500 * time.Millisecond)))
	if o.wake == atRace {
		o.delay += 19 * time.Second
	}
	r.stopped = append(r.stopped, o)
	r.Kills = append(r.Kills, "stopped: "+o.name)
	const stopped = -1
	r.Exits = append(r.Exits, stopped)
	return true, nil
}

// wakeDuring lets stopped owners continue at their moments during an attempt.
func (r *KillRound) wakeDuring(ctx context.Context, p *process) {
	copies := r.copies()
	for _, o := range r.stopped {
		if o.awake.Load() || o.wake == atEnd {
			continue
		}
		go func() {
			if o.wake == atTaken && !awaitRecord(ctx, p, copies, "") {
				return
			}
			if pause(ctx, o.delay) == nil {
				o.awake.Store(true)
				o.signal(syscall.SIGCONT)
			}
		}()
	}
}

// awaitAwake waits for the end of owners that continue: one that continues before it is taken for dead keeps its job.
func (r *KillRound) awaitAwake(ctx context.Context) {
	for _, o := range r.stopped {
		if o.awake.Load() {
			r.ended(ctx, o)
		}
	}
}

// continueOwners lets all stopped owners continue, and waits for their ends.
func (r *KillRound) continueOwners(ctx context.Context) error {
	for _, o := range r.stopped {
		o.signal(syscall.SIGCONT)
		r.ended(ctx, o)
	}
	return ctx.Err()
}

// ended waits for the end of a stopped owner that continues, and judges it, once.
func (r *KillRound) ended(ctx context.Context, o *stoppedOwner) {
	if o.name == "" {
		return
	}
	if err := o.wait(ctx); err != nil {
		r.problem("%v", err)
	}
	end := fmt.Sprintf("%s: exit code %d", o.name, o.exit)
	r.Owners = append(r.Owners, fmt.Sprintf("%s, %s", end, o.wake))
	const hdfs, hbase, busy = 6, 7, 75
	lost := o.exit == busy && (o.free || strings.Contains(o.lastError(), "has taken over this job"))
	kept := o.exit == 0 && (o.wake == atRace || o.free)
	late := o.free && (o.exit == hdfs || o.exit == hbase) // a time limit of its calls passed while it was stopped
	if !lost && !kept && !late && !r.complete(o.process) {
		r.problem("the stopped owner, %s: %s", end, o.lastError())
	}
	o.name = ""
}

// launchOn starts the program as on another host: with another name, and another boot.
func launchOn(dir string, argv, env []string, cwd string) (*process, error) {
	if os.Getuid() != 0 {
		return launch(argv, env, cwd)
	}
	known, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return nil, err
	}
	name, boot, hosts := filepath.Base(dir), filepath.Join(dir, "boot_id"), filepath.Join(dir, "hosts")
	if err := errors.Join(os.WriteFile(boot, []byte(dir+"\n"), 0o644), os.WriteFile(hosts, fmt.Appendf(known, "\n127.0.0.1 %s\n", name), 0o644)); err != nil {
		return nil, err
	}
	const host = `mount --bind "$0" /proc/sys/kernel/random/boot_id && mount --bind "$1" /etc/hosts && hostname "$2" && shift 2 && exec "$@"`
	argv = append([]string{"/bin/sh", "-c", host, boot, hosts, name}, argv...)
	return launchIn(argv, env, cwd, syscall.CLONE_NEWNS|syscall.CLONE_NEWUTS)
}
