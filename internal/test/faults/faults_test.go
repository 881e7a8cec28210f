package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testcluster"
)

// Fault is one fault at one moment.
type Fault struct {
	Kind    string
	When    Trigger
	For     time.Duration // how long a stopped process stays stopped, or how late a call arrives
	Calls   int           // loading calls that a proxy disturbs
	Frozen  bool          // the program is stopped while the table changes
	Server  int           // region server or DataNode, 0 or 1
	Nth     int           // occurrence of the event at which the program kills itself
	Pick    uint64        // seed of the remaining choices
	Another bool          // SIGINT instead of SIGTERM; SIGTERM instead of a kill between runs
	How     string        // the variant of a fault that has several
	Between bool          // the first run is stopped, and the fault injected before the next
}

func (f Fault) String() string {
	if f.Kind == None {
		return f.Kind
	}
	s := f.Kind + " " + f.When.String()
	switch {
	case f.Kind == KillAt || f.Between && !f.Another:
		s = fmt.Sprintf("%s %s:%d", f.Kind, f.When.Event, f.Nth)
	case f.Calls > 0:
		s = fmt.Sprintf("%s of %d calls", f.Kind, f.Calls)
	case f.Frozen:
		s += ", program frozen"
	}
	if f.Between {
		s += ", between runs"
	}
	if f.How != "" {
		s = strings.Replace(s, f.Kind, f.Kind+" ("+f.How+")", 1)
	}
	if f.For > 0 {
		s += fmt.Sprintf(", %d ms", f.For.Milliseconds())
	}
	return s
}

// The kinds of faults; those of [Proxies] are kinds too.
const (
	None        = "none"
	Kill        = "kill"      // SIGKILL of the program
	KillAt      = "kill-at"   // the program kills itself after a record of its journal
	Term        = "term"      // SIGTERM or SIGINT of the program
	Stop        = "stop"      // SIGSTOP of the program, SIGCONT later
	RSKill      = "rs-kill"   // SIGKILL of a region server, restarted later
	RSPause     = "rs-pause"  // SIGSTOP of a region server
	RSZombie    = "rs-zombie" // SIGSTOP for longer than its session in ZooKeeper lives
	DNKill      = "dn-kill"
	DNPause     = "dn-pause"
	NNKill      = "nn-kill"
	NNPause     = "nn-pause"
	MasterKill  = "master-kill"
	MasterPause = "master-pause"
	Split       = "split"
	Merge       = "merge"
	Move        = "move"
	Disable     = "disable" // disabled and enabled again by another client
)

// Kinds returns all kinds of faults in the order of reports.
func Kinds() []string {
	return []string{None, Kill, KillAt, Term, Stop, RSKill, RSPause, RSZombie, DNKill, DNPause, NNKill, NNPause,
		MasterKill, MasterPause, Split, Merge, Move, Disable,
		string(AnswerCut), string(AnswerSwallow), string(AnswerDelay), string(RequestCut), string(RequestLate),
		InputChange, BitFlip, Recreate}
}

// journalEvents are the journal events of a job without faults.
var journalEvents = []string{"plan", "attempt", "sorted", "written", "built", "loading", "prepared", "sending", "loaded", "cleaned"}

// RandomFault draws a fault of a kind, or of any kind if kind is empty.
func RandomFault(r *rand.Rand, kind string) Fault {
	f := Fault{Kind: kind, Pick: r.Uint64(), Server: r.IntN(2), Frozen: r.IntN(2) == 0, Nth: 1 + r.IntN(3), Another: r.IntN(2) == 0}
	drawn := oneOf(r, Kinds()[1:]...)
	if kind == "" {
		f.Kind = drawn
	}
	if r.IntN(3) == 0 {
		f.When.After = time.Duration(r.IntN(1200)) * time.Millisecond
	} else {
		f.When = Trigger{Event: oneOf(r, journalEvents...), After: time.Duration(r.IntN(3)*r.IntN(60)) * time.Millisecond}
	}
	ms := func(from, to int) time.Duration { return time.Duration(from+r.IntN(to-from)) * time.Millisecond }
	short, long, zombie, calls := ms(300, 8000), ms(2000, 9000), ms(14_000, 20_000), 1+r.IntN(3)
	switch f.Kind {
	case KillAt:
		f.When.After = 0
		f.When.Event = cmp.Or(f.When.Event, "sending")
		if f.When.Event != "written" && f.When.Event != "loaded" {
			f.Nth = 1 // the others occur once in a run
		}
	case Stop, RSPause, DNPause, NNPause, MasterPause, RSKill, DNKill, NNKill, MasterKill, Disable:
		f.For = short
	case RSZombie:
		f.For = zombie
	case string(AnswerCut), string(RequestCut):
		f.Calls = calls
	case string(AnswerSwallow), string(AnswerDelay), string(RequestLate):
		f.Calls, f.For = calls, long
	}
	if f.Kind != Split && f.Kind != Merge && f.Kind != Move {
		f.Frozen = false
	}
	if f.mayRefuse() {
		f.drawSeam(r)
	}
	return f
}

// proxied reports whether a proxy injects the fault.
func (f Fault) proxied() bool { return f.Calls > 0 }

// inject waits for the moment and injects the fault. It also repairs it, unless Heal does that. It reports whether
// the program was running then.
func (r *round) inject(ctx context.Context, p *process) (hit bool, err error) {
	f := r.fault
	if f.Kind == None {
		return false, nil
	}
	if f.proxied() {
		select {
		case <-r.armed:
		case <-p.done:
			select {
			case <-r.armed:
			default:
				return false, nil
			}
		}
		if f.Kind == string(AnswerSwallow) {
			// An operator does not wait ten minutes for a response, but stops the run.
			if err := pause(ctx, f.For); err != nil {
				return true, err
			}
			p.signal(syscall.SIGTERM)
		}
		return true, nil
	}
	if f.Between {
		return r.between(ctx, p)
	}
	if f.Kind == KillAt {
		<-p.done
		return p.exit == 128+int(syscall.SIGKILL), nil
	}
	if !f.When.wait(p, r.state) {
		return false, nil
	}
	r.lab.Log.Debug("fault", "kind", f.Kind, "when", f.When.String())
	err = r.harm(ctx, p)
	return !r.late, err
}

func (r *round) harm(ctx context.Context, p *process) error {
	f := r.fault
	switch f.Kind {
	case Kill:
		p.signal(syscall.SIGKILL)
		return nil
	case Term:
		if f.Another {
			p.signal(syscall.SIGINT)
		} else {
			p.signal(syscall.SIGTERM)
		}
		return nil
	case Stop:
		p.signal(syscall.SIGSTOP)
		defer p.signal(syscall.SIGCONT)
		return pause(ctx, f.For)
	}
	if is, err := r.lab.disturb(ctx, f); is {
		return err
	}
	if f.Frozen {
		if err := p.freeze(ctx); err != nil {
			return err
		}
		defer p.signal(syscall.SIGCONT)
	}
	if f.mayRefuse() {
		return r.seam(ctx)
	}
	return r.change(ctx)
}

// disturb kills or stops a daemon for a while, if the fault is of that kind. If a daemon was stopped, it returns when
// the daemon continues.
func (l *Lab) disturb(ctx context.Context, f Fault) (is bool, err error) {
	daemon := func(role testcluster.Role) *testcluster.Daemon { return l.cluster.Daemon(role) }
	switch f.Kind {
	case RSKill:
		err = l.watch.kill(ctx, daemon(testcluster.RegionServer.Nth(f.Server+1)), f.For)
	case DNKill:
		err = l.watch.kill(ctx, daemon(testcluster.DataNode.Nth(f.Server+1)), f.For)
	case NNKill:
		err = l.watch.kill(ctx, daemon(testcluster.NameNode), f.For)
	case MasterKill:
		err = l.watch.kill(ctx, daemon(testcluster.Master), f.For)
	case RSPause, RSZombie:
		err = freeze(ctx, daemon(testcluster.RegionServer.Nth(f.Server+1)), f.For)
	case DNPause:
		err = freeze(ctx, daemon(testcluster.DataNode.Nth(f.Server+1)), f.For)
	case NNPause:
		err = freeze(ctx, daemon(testcluster.NameNode), f.For)
	case MasterPause:
		err = freeze(ctx, daemon(testcluster.Master), f.For)
	default:
		return false, nil
	}
	return true, err
}

// freeze stops a daemon (SIGSTOP) for a while.
func freeze(ctx context.Context, d *testcluster.Daemon, away time.Duration) error {
	if err := d.Pause(); err != nil {
		return unlessEnded(err)
	}
	err := pause(ctx, away)
	return errors.Join(err, unlessEnded(d.Resume()))
}

// unlessEnded returns the error of a signal, nil if there was no process to get it.
func unlessEnded(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// change splits, merges or moves a region, or disables the table for a while.
func (r *round) change(ctx context.Context) error {
	f := r.fault
	keys := r.loaded
	if f.Kind == Disable {
		if _, err := r.lab.admin(ctx, "disable", r.table); err != nil {
			return err
		}
		err := pause(ctx, f.For)
		_, e := r.lab.admin(context.WithoutCancel(ctx), "enable", r.table)
		return errors.Join(err, e)
	}
	key := keys[f.Pick%uint64(len(keys))].key
	var err error
	switch f.Kind {
	case Split:
		_, err = r.lab.admin(ctx, "split", r.table, key)
	case Move:
		_, err = r.lab.admin(ctx, "move", r.table, key)
	case Merge:
		var regions []region
		if regions, err = r.lab.regions(ctx, r.table); err != nil {
			return err
		}
		if len(regions) < 2 {
			r.note = "the table has one region only"
			return nil
		}
		i := f.Pick % uint64(len(regions)-1)
		_, err = r.lab.admin(ctx, "merge", r.table, first(regions[i].start), first(regions[i+1].start))
	}
	if err != nil {
		// A region that was just split or loaded into cannot be changed again; the round continues with the rest.
		r.note = strings.SplitN(err.Error(), "\n", 2)[0]
	}
	return nil
}

// first returns a key in the region that begins at start.
func first(start string) string {
	if start == "" {
		return `\x00`
	}
	return start
}
