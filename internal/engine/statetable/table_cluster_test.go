package statetable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// newTable returns a table that does not exist yet.
func newTable(t testing.TB) *Table { return newTableBy(t, nil) }

// newTableBy returns a table whose connections are made by dial, unless dial is nil.
func newTableBy(t testing.TB, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Table {
	t.Helper()
	dir := testcluster.Shared(t).ConfDir()
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return dir, name == "HADOOP_CONF_DIR" })
	testcheck.Must(t, err)
	user, err := conf.User()
	testcheck.Must(t, err)
	c, err := loader.Dial(t.Context(), loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: user, Dialer: dial}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	table := New(c, loader.TableName{Namespace: "default", Qualifier: "state-" + testcheck.Name(t)})
	t.Cleanup(func() {
		if err := c.DeleteTable(context.WithoutCancel(t.Context()), table.name); err != nil && !errors.Is(err, loader.ErrTableNotFound) {
			t.Error(err)
		}
		testcheck.Must(t, c.Close())
	})
	return table
}

// silent returns the table for a process that writes no beats, and that waits only briefly for beats of others.
func silent(t *Table) *Table {
	s := *t
	s.beatEvery, s.lookEvery, s.silentFor = time.Hour, 10*time.Millisecond, 100*time.Millisecond
	return &s
}

func lines(texts ...string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// write appends records durably.
func write(t testing.TB, o *Owner, records [][]byte) error {
	last := len(records) - 1
	for _, line := range records[:last] {
		if err := o.Queue(line, false); err != nil {
			return err
		}
	}
	return o.Append(t.Context(), records[last])
}

// checkRecords compares the content of the table with lines.
func checkRecords(t interface{ Fatalf(string, ...any) }, c *Content, err error, want [][]byte) {
	if err != nil || len(c.Records) != len(want) {
		t.Fatalf("%d records, want %d: %v", len(c.Records), len(want), err)
	}
	for i := range want {
		if !bytes.Equal(c.Records[i], want[i]) {
			t.Fatalf("record %d has %d bytes, want %d: %.60q", i+1, len(c.Records[i]), len(want[i]), c.Records[i])
		}
	}
}

// TestOwner runs through a job's life with orderly successive owners.
func TestOwner(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	testcheck.Must(t, table.All(t.Context(), func(string, *Content) error { return errors.New("there is no table yet") }))
	first, c, err := table.Take(t.Context(), "job", func() []byte { return []byte("live\nof the first") }, nil)
	testcheck.Must(t, err)
	checkRecords(t, c, nil, nil)
	long := bytes.Repeat([]byte("0123456789abcde\n"), maxPart/6) // three parts
	all := append(lines("one", "", "three"), long, []byte("five"))
	testcheck.Must(t, write(t, first, all[:2]))
	testcheck.Must(t, write(t, first, all[2:]))
	if _, _, err := table.Take(t.Context(), "job", nil, nil); !isBusy(err, first.holder) {
		t.Fatalf("taken from an owner who lives: %v", err)
	}
	c, err = table.Read(t.Context(), "job")
	checkRecords(t, c, err, all)
	if string(c.Live) != "live\nof the first" {
		t.Errorf("it says of itself %q", c.Live)
	}
	testcheck.Must(t, first.Release(t.Context()))
	second, c, err := table.Take(t.Context(), "job", nil, func(Holder) { t.Error("a job that was released is watched") })
	checkRecords(t, c, err, all)
	if h := second.holder; h.Epoch != first.holder.Epoch+1 || h.Mark == first.holder.Mark {
		t.Errorf("%+v follows %+v", h, first.holder)
	}
	testcheck.Must(t, write(t, second, lines("six")))
	other, _, err := table.Take(t.Context(), "job2", nil, nil) // its key has the other one's as a prefix
	testcheck.Must(t, err)
	testcheck.Must(t, write(t, other, lines("other")))
	testcheck.Must(t, second.Restart(t.Context()))
	c, err = table.Read(t.Context(), "job")
	checkRecords(t, c, err, nil)
	testcheck.Must(t, write(t, second, lines("again")))
	seen := ""
	testcheck.Must(t, table.All(t.Context(), func(job string, c *Content) error {
		seen += fmt.Sprintf("%s %q %v\n", job, c.Records, c.Holder.Released)
		return nil
	}))
	if want := "job [\"again\"] false\njob2 [\"other\"] false\n"; seen != want {
		t.Errorf("%s, want %s", seen, want)
	}
	testcheck.Must(t, second.Delete(t.Context()))
	testcheck.Must(t, other.Release(t.Context()))
	c, err = table.Read(t.Context(), "job")
	checkRecords(t, c, err, nil)
	if c.owner != nil || c.Live != nil {
		t.Errorf("%+v is left", c)
	}
	third, c, err := table.Take(t.Context(), "job", nil, nil)
	checkRecords(t, c, err, nil)
	testcheck.Must(t, write(t, third, lines("fourth")))
	c, err = table.Read(t.Context(), "job")
	checkRecords(t, c, err, lines("fourth"))
	testcheck.Must(t, third.Release(t.Context()))
}

func isBusy(err error, h Holder) bool {
	e, ok := errors.AsType[*BusyError](err)
	return ok && e.Holder == h
}

// TestSilentOwner checks that a job is taken over from a suspended process, which cannot change the job when it continues.
func TestSilentOwner(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	first, _, err := silent(table).Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := first.Check(stopped); err != nil {
		t.Errorf("a stopped process that has its job: %v", err)
	}
	testcheck.Must(t, write(t, first, lines("one")))
	watched := Holder{}
	second, c, err := silent(table).Take(t.Context(), "job", nil, func(h Holder) { watched = h })
	checkRecords(t, c, err, lines("one"))
	if watched != first.holder {
		t.Errorf("%v was watched", watched)
	}
	for what, do := range map[string]func() error{
		"append":  func() error { return write(t, first, lines("late")) },
		"beat":    func() error { return first.beat(t.Context()) },
		"check":   func() error { return first.Check(t.Context()) },
		"stopped": func() error { return first.Check(stopped) },
		"restart": func() error { return first.Restart(t.Context()) },
	} {
		if e, ok := errors.AsType[*LostError](do()); !ok || e.Holder != second.holder {
			t.Errorf("%s: %v", what, e)
		}
	}
	select {
	case <-first.Gone():
	default:
		t.Error("the loss is not known")
	}
	testcheck.Must(t, first.Delete(t.Context())) // no effect any more
	testcheck.Must(t, write(t, second, lines("two")))
	c, err = table.Read(t.Context(), "job")
	checkRecords(t, c, err, lines("one", "two"))
	testcheck.Must(t, second.Delete(t.Context()))
	if e, ok := errors.AsType[*LostError](first.Lost()); !ok || e.Holder != second.holder {
		t.Errorf("%v", e)
	}
}

// TestLostAtRelease checks that a suspended process learns at the latest when it releases the job that another has taken it over, or removed it.
func TestLostAtRelease(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for what, leave := range map[string]func(*Owner, context.Context) error{"taken over": nil, "removed": (*Owner).Delete} {
		first, _, err := silent(table).Take(t.Context(), what, nil, nil)
		testcheck.Must(t, err)
		second, _, err := silent(table).Take(t.Context(), what, nil, nil)
		testcheck.Must(t, err)
		want := second.holder
		if leave != nil {
			want = Holder{}
			testcheck.Must(t, leave(second, t.Context()))
		}
		testcheck.Must(t, first.Release(t.Context()))
		if e, ok := errors.AsType[*LostError](first.Lost()); !ok || e.Holder != want {
			t.Errorf("%s: %v", what, first.Lost())
		}
	}
}

// TestWaitingRecords checks that records that announce no action are written with the next one that does, by a beat, or when the job is released.
func TestWaitingRecords(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	all := lines("one", "two", "three", "four", "five", "six", "seven")
	quick := *table
	quick.beatEvery = 100 * time.Millisecond
	inTable := func(n int) (bool, any) {
		c, err := table.Read(t.Context(), "job")
		testcheck.Must(t, err)
		if len(c.Records) < n {
			return false, len(c.Records)
		}
		checkRecords(t, c, nil, all[:n])
		return true, nil
	}
	first, _, err := silent(table).Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	testcheck.Must(t, first.Queue(all[0], false))
	if there, _ := inTable(1); there {
		t.Error("a record that can wait was written by itself")
	}
	testcheck.Must(t, first.Append(t.Context(), all[1]))
	if there, n := inTable(2); !there {
		t.Errorf("%v of 2 records are in the table", n)
	}
	testcheck.Must(t, first.Queue(all[2], false))
	testcheck.Must(t, first.Release(t.Context()))
	if there, n := inTable(3); !there {
		t.Errorf("%v of 3 records are in the table", n)
	}
	second, c, err := quick.Take(t.Context(), "job", nil, nil)
	checkRecords(t, c, err, all[:3])
	testcheck.Must(t, second.Queue(all[3], false))
	testcheck.Eventually(t, time.Minute, "a beat has the record with it", func() (bool, any) { return inTable(4) })
	testcheck.Must(t, second.Append(t.Context(), all[4]))
	if there, n := inTable(5); !there {
		t.Errorf("%v of 5 records are in the table", n)
	}
	testcheck.Must(t, second.Release(t.Context()))
	third, c, err := silent(table).Take(t.Context(), "job", nil, nil)
	checkRecords(t, c, err, all[:5])
	testcheck.Must(t, third.Queue(all[5], true))
	testcheck.Must(t, third.Queue(all[6], true))
	testcheck.Eventually(t, time.Minute, "records that hurry are written without a beat", func() (bool, any) { return inTable(7) })
	testcheck.Must(t, third.Delete(t.Context()))
}

// TestLossIsNoticed checks that an idle owner notices by its beat that it was taken for dead.
func TestLossIsNoticed(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	slow := *table
	slow.beatEvery = time.Second
	first, _, err := slow.Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	usurper := silent(table)
	c, err := usurper.read(t.Context(), "job", ownerFamily)
	testcheck.Must(t, err)
	second, _, err := usurper.takeFrom(t.Context(), "job", c, Holder{Mark: "second"}) // without checking whether it is alive
	testcheck.Must(t, err)
	testcheck.Eventually(t, time.Minute, "the loss is known", func() (bool, any) {
		e, ok := errors.AsType[*LostError](first.Lost())
		return ok && e.Holder == second.holder, e
	})
	<-first.Gone()
	testcheck.Must(t, first.Release(t.Context()))
}

// TestForeignTable checks that a table with other data is refused, and that none of its rows is taken for a job.
func TestForeignTable(t *testing.T) {
	t.Parallel()
	for _, family := range []string{"f", ownerFamily, recordFamily} {
		t.Run(family, func(t *testing.T) {
			table := newTable(t)
			testcheck.Must(t, table.cluster.CreateTable(t.Context(), loader.TableSpec{Name: table.name, Families: []loader.Family{{Name: family, Versions: 1}}}))
			_, err := table.cluster.Mutate(t.Context(), table.name, loader.Mutation{Row: []byte("row"), If: loader.Cell{Family: []byte(family), Qualifier: []byte("q")},
				Cells: []loader.Cell{{Family: []byte(family), Qualifier: []byte("q"), Value: []byte("v")}}})
			testcheck.Must(t, err)
			_, _, taken := table.Take(t.Context(), "row", nil, nil)
			_, read := table.Read(t.Context(), "row")
			all := table.All(t.Context(), func(job string, c *Content) error {
				t.Errorf("job %s is %+v", job, c)
				return nil
			})
			for what, err := range map[string]error{"take": taken, "read": read, "all": all} {
				if e, ok := errors.AsType[*ForeignTableError](err); !ok || e.Table != table.name {
					t.Errorf("%s: %v", what, err)
				}
			}
			cells := 0
			testcheck.Must(t, table.cluster.Scan(t.Context(), loader.ScanRequest{Table: table.name, Families: []string{family}}, func(r loader.Row) error {
				cells += len(r.Cells)
				return nil
			}))
			if cells != 1 {
				t.Errorf("the table has %d cells, want its own", cells)
			}
		})
	}
}

// TestReadOnlyStateTable checks that a read-only table is refused with advice before a job begins.
func TestReadOnlyStateTable(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	family := func(name string) loader.Family { return loader.Family{Name: name, Versions: 1} }
	testcheck.Must(t, table.cluster.CreateTable(t.Context(), loader.TableSpec{Name: table.name, Families: []loader.Family{family(recordFamily), family(ownerFamily)}, Attributes: map[string]string{"READONLY": "true"}}))
	if _, _, err := table.Take(t.Context(), "job", nil, nil); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "set READONLY to false") {
		t.Errorf("it ended with %v", err)
	}
}

// TestEndedOwner checks that a process of this machine that has ended is not waited for.
func TestEndedOwner(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	child := exec.Command(os.Args[0], "-test.run=^$")
	testcheck.Must(t, child.Run())
	self, err := thisProcess()
	testcheck.Must(t, err)
	gone := self
	gone.PID = child.Process.Pid
	testcheck.Must(t, table.create(t.Context()))
	_, _, err = table.takeFrom(t.Context(), "job", &Content{}, gone)
	testcheck.Must(t, err)
	o, _, err := table.Take(t.Context(), "job", nil, func(h Holder) { t.Errorf("%v is watched", h) })
	testcheck.Must(t, err)
	testcheck.Must(t, o.Release(t.Context()))
	elsewhere := gone
	elsewhere.Space = "another machine"
	stepped := self // as an hour before, by a clock that has been set forward since
	stepped.Since = stepped.Since.Add(-time.Hour)
	if !gone.ended(self) || elsewhere.ended(self) || self.ended(self) || stepped.ended(self) {
		t.Error("only a process of this machine can be known to have ended")
	}
}

// TestOwners has several processes take a job from one another and write, at random, and compares the table with a list.
func TestOwners(t *testing.T) {
	t.Parallel()
	table := silent(newTable(t))
	testcheck.Must(t, table.create(t.Context()))
	round := 0
	testcheck.Check(t, func(rt *rapid.T) {
		round++
		job := fmt.Sprint("job", round)
		owners := make([]*Owner, 3)
		owner := -1 // of the job
		var want, waiting [][]byte
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "process")
			o := owners[i]
			act := rapid.SampledFrom([]string{"take", "append", "append", "wait", "restart", "release"}).Draw(rt, "act")
			if act != "take" && o == nil {
				continue
			}
			var err error
			switch act {
			case "take":
				c, e := table.read(t.Context(), job, ownerFamily)
				testcheck.Must(t, e)
				o, c, err = table.takeFrom(t.Context(), job, c, Holder{PID: i, Mark: fmt.Sprint(step)})
				checkRecords(rt, c, err, want)
				owners[i], owner, waiting = o.begin(t.Context(), nil), i, nil
				continue
			case "wait":
				line := fmt.Append(nil, "waits", i, step)
				if err := o.Queue(line, false); i == owner {
					testcheck.Must(t, err)
					waiting = append(waiting, line)
				}
				continue // an owner that has lost the job may not know it yet
			case "append":
				records := lines(fmt.Sprint(i, step), fmt.Sprint("more", step))
				if err = write(t, o, records); i == owner {
					want, waiting = slices.Concat(want, waiting, records), nil
				}
			case "restart":
				if err = o.Restart(t.Context()); i == owner {
					want, waiting = nil, nil
				}
			case "release":
				if e := o.Release(t.Context()); e != nil {
					rt.Fatal(e)
				}
				if owners[i] = nil; i == owner {
					owner, want, waiting = -1, append(want, waiting...), nil
				}
				continue
			}
			if _, lost := errors.AsType[*LostError](err); lost != (i != owner) || !lost && err != nil {
				rt.Fatalf("%s by process %d, owner is %d: %v", act, i, owner, err)
			}
		}
		c, err := table.Read(t.Context(), job)
		checkRecords(rt, c, err, want)
		for _, o := range owners {
			if o != nil {
				testcheck.Must(t, o.Release(t.Context()))
			}
		}
	})
}
