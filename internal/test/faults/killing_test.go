package faults

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testcluster"
)

// killing is one kill: of the command after a record, or of the command or one of its processes on YARN after some
// time.
type killing struct {
	record string        // EVENT:N, at which the program kills itself
	victim string        // kind of a process in a container; empty: the command
	writes bool          // wait until the command has begun a file of the shares
	after  time.Duration // since the command began or writes, or since the victim was found
	fault  Fault         // of a daemon, of a call or of the table, instead of a kill; its kind is empty: none
	stop   string        // how the command is stopped instead of killed; empty: it is killed
	hit    bool          // the victim was killed
}

// The processes in containers.
const (
	mapper  = "map"
	reducer = "reduce"
	taskJVM = "YarnChild"
	master  = "MRAppMaster"
)

// habit is the undisturbed behaviour of a command: its duration, and the records that it writes.
type habit struct {
	span    time.Duration
	records []string
}

// learn records the undisturbed behaviour of a command. A command that resumes after a kill writes fewer records.
func (l *Lab) learn(name string, span time.Duration, records []string) {
	if l.known == nil {
		l.known = map[string]habit{}
	}
	h := l.known[name]
	h.span = span
	if len(records) > len(h.records) {
		h.records = records
	}
	l.known[name] = h
}

// drawKills draws the number of kills of each command. All kinds are equally likely.
func (r *KillRound) drawKills(steps []killStep) []int {
	of := map[string][]int{}
	var kinds []string
	for i, s := range steps {
		if of[s.kind] == nil {
			kinds = append(kinds, s.kind)
		}
		of[s.kind] = append(of[s.kind], i)
	}
	kills := make([]int, len(steps))
	for range len(kinds)/2 + 1 + r.rand.IntN(3) {
		kills[oneOf(r.rand, of[oneOf(r.rand, kinds...)]...)]++
	}
	return kills
}

// disturbances returns the kinds of faults that are injected while a command of a [KillRound] runs.
func disturbances() []string {
	return []string{RSKill, RSPause, RSZombie, DNKill, DNPause, NNKill, NNPause, MasterKill, MasterPause, Split, Merge,
		string(AnswerCut), string(AnswerSwallow), string(AnswerDelay), string(RequestCut), string(RequestLate)}
}

// drawKilling draws a kill of a command, or a fault around it.
func (r *KillRound) drawKilling(s killStep) *killing {
	if r.Harms == disturbs && r.rand.IntN(3) > 0 {
		f := RandomFault(r.rand, oneOf(r.rand, disturbances()...))
		return &killing{fault: f, after: 1 + time.Duration(r.rand.Int64N(int64(cmp.Or(r.lab.known[r.name(s)].span, 2*time.Second))))}
	}
	if r.Engine == YARN && r.rand.IntN(3) > 0 {
		return r.drawVictim()
	}
	known := r.lab.known[r.name(s)]
	stop := r.drawStop(s)
	if stop == whileSending {
		return &killing{stop: stop, after: time.Duration(r.rand.IntN(60)) * time.Millisecond}
	}
	if s.journal && r.rand.IntN(2) == 0 {
		records := known.records
		if records == nil {
			records = []string{"plan", "loading", "loaded"}
		}
		i := r.rand.IntN(len(records))
		return &killing{record: fmt.Sprintf("%s:%d", records[i], count(records[:i+1], records[i])), stop: stop}
	}
	span := cmp.Or(known.span, 2*time.Second)
	k := &killing{writes: r.Engine == Shares && !s.journal && r.rand.IntN(2) == 0, stop: stop}
	if k.writes {
		span = min(span, 60*time.Millisecond)
	}
	k.after = 1 + time.Duration(r.rand.Int64N(int64(span)))
	return k
}

// drawVictim draws a kill of one of the command's processes in a container.
func (r *KillRound) drawVictim() *killing {
	return &killing{victim: oneOf(r.rand, mapper, reducer, taskJVM, master), after: time.Duration(r.rand.IntN(1500)) * time.Millisecond}
}

// kill waits for the moment, unless the program kills itself. The exit code shows the effect on the command.
func (r *KillRound) kill(ctx context.Context, p *process, s killStep, k *killing, before []string) error {
	switch {
	case k.fault.Kind != "":
		return r.disturb(ctx, p, k)
	case k.stop == whileSending:
		awaitRecord(ctx, p, r.copies(), `"event":"sending"`)
		return pause(ctx, k.after)
	case k.record != "":
		return nil
	case k.victim == "":
		for k.writes && p.running() && slices.Equal(before, r.shareFiles(ctx, s)) {
			if err := pause(ctx, journalPoll); err != nil {
				return err
			}
		}
		select {
		case <-p.done:
		case <-time.After(k.after):
			if !k.stops() {
				p.signal(syscall.SIGKILL)
			}
		}
		return nil
	}
	if err := r.killContainer(ctx, p, k); err != nil || !k.hit {
		return err
	}
	r.Kills = append(r.Kills, "on YARN, "+k.victim)
	if err := r.upheaval(ctx); err != nil || r.rand.IntN(3) == 0 {
		return err
	}
	// The command was not affected: it, or another victim, may be next.
	next := r.drawVictim()
	if r.rand.IntN(3) == 0 {
		next = &killing{after: 10 * next.after}
	}
	return r.kill(ctx, p, s, next, before)
}

// disturb waits for the moment and injects the fault around a command, if the command has not ended by then.
func (r *KillRound) disturb(ctx context.Context, p *process, k *killing) error {
	moment := time.After(k.after)
	if k.fault.proxied() {
		moment = nil
	}
	select {
	case <-p.done:
		return nil
	case <-r.armed: // nil unless a call is disturbed
	case <-moment:
	}
	r.Faults = append(r.Faults, k.fault.Kind)
	switch k.fault.Kind {
	case Split, Merge:
		return r.upset(ctx, k.fault.Kind)
	case string(AnswerSwallow): // an operator stops a command that waits
		err := pause(ctx, k.fault.For)
		p.signal(syscall.SIGTERM)
		return err
	}
	_, err := r.lab.disturb(ctx, k.fault)
	return err
}

// killContainer kills a victim of the round's jobs. If the victim has ended, it looks for another one.
func (r *KillRound) killContainer(ctx context.Context, p *process, k *killing) error {
	for p.running() {
		all, err := r.lab.cluster.Containers()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(c testcluster.Process) bool { return !r.earlier[c.Container] && k.meets(c.Command) })
		if i >= 0 {
			select {
			case <-p.done:
				return nil
			case <-time.After(k.after):
			}
			if k.hit = all[i].Signal(syscall.SIGKILL) == nil; k.hit {
				return nil
			}
			k.after = 0
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// meets reports whether a process is of the victim's kind.
func (k *killing) meets(command []string) bool {
	if k.victim == mapper || k.victim == reducer {
		return len(command) == 3 && filepath.Base(command[0]) == "bulkload" && command[1] == "task" && command[2] == k.victim
	}
	return filepath.Base(command[0]) == "java" && strings.Contains(strings.Join(command, " "), k.victim)
}

// records returns the records of the most recently written journal in a directory.
func (r *KillRound) records(s killStep) []string {
	if !s.journal {
		return nil
	}
	journals := filepath.Join(r.state, "*", "journal.jsonl")
	if r.Hosts {
		journals = r.copies()
	}
	names, _ := filepath.Glob(journals)
	last := slices.MaxFunc(append(names, ""), func(a, b string) int { return written(a).Compare(written(b)) })
	all, _ := eventsOf(last) // the last record may be incomplete
	return all
}

// written returns the modification time of a file, or the zero time if it does not exist.
func written(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// landed describes where a kill has hit a command.
func (r *KillRound) landed(ctx context.Context, s killStep, k *killing, before []string) string {
	where := "at a moment"
	records := r.records(s)
	switch {
	case k != nil && k.record != "":
		event, _, _ := strings.Cut(k.record, ":")
		where = "at record " + event
	case len(records) > 0:
		where = "after " + records[len(records)-1]
	case !s.journal && r.Engine == Shares && slices.Equal(before, r.shareFiles(ctx, s)):
		where = "before its files"
	case !s.journal && r.Engine == Shares:
		where = "with files begun"
	}
	return s.kind + " " + where
}
