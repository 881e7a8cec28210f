package statetable

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

// Families and columns of the table.
const (
	ownerFamily  = "o"
	recordFamily = "j"
)

var (
	ownerColumn = []byte("owner")
	beatColumn  = []byte("beat")
)

// Intervals of beats and takeovers.
const (
	beatEvery = 2 * time.Second
	silentFor = 20 * time.Second // after which an owner counts as dead
	lookEvery = time.Second      // interval of checks of an owner that may be dead
	minLooks  = 10               // checks that must have found no beat, so that a region server's restart is not silence
)

// families returns the families of a state table.
func families() []string { return []string{recordFamily, ownerFamily} }

// Table is an HBase table of journals. It is safe for concurrent use by goroutines and processes.
type Table struct {
	cluster *loader.Cluster
	name    loader.TableName

	beatEvery, silentFor, lookEvery time.Duration
}

// New returns a table on a cluster, which the caller owns. It does not contact the cluster.
func New(c *loader.Cluster, name loader.TableName) *Table {
	return &Table{cluster: c, name: name, beatEvery: beatEvery, silentFor: silentFor, lookEvery: lookEvery}
}

// Content is the table's content for a job.
type Content struct {
	Holder  Holder
	Records [][]byte // lines without line ends; the last line of a damaged row names the damage
	Live    []byte   // the holder's report, nil: none

	beat  []byte
	owner []byte        // as it is stored, nil: no owner
	cells []loader.Cell // all cells, including discarded generations; without values
}

// Read reads the content of a job. It is empty if the table does not have the job.
func (t *Table) Read(ctx context.Context, job string) (*Content, error) {
	if err := t.mayRead(ctx); err != nil {
		return nil, fmt.Errorf("read the state of job %s: %w", job, err)
	}
	return t.read(ctx, job, families()...)
}

// Now returns the content of the owner's job as it is now, also if the job is lost.
func (o *Owner) Now(ctx context.Context) (*Content, error) { return o.table.Read(ctx, o.job) }

// mayRead returns an error if the user may not read each family. A scan of both silently omits one that the user may not read, and a job without its
// records would begin again. Each family is scanned separately, for a row that is not a job. [loader.Cluster.MayRead] needs the master, this does not.
func (t *Table) mayRead(ctx context.Context) error {
	for _, family := range families() {
		nothing := loader.ScanRequest{Table: t.name, Start: []byte{0}, Stop: []byte{0, 0}, Families: []string{family}, Prompt: true}
		if err := t.cluster.Scan(ctx, nothing, func(loader.Row) error { return nil }); err != nil {
			return t.unfit(err)
		}
	}
	return nil
}

func (t *Table) read(ctx context.Context, job string, of ...string) (*Content, error) {
	c := &Content{}
	err := t.cluster.Scan(ctx, loader.ScanRequest{Table: t.name, Start: []byte(job), Stop: append([]byte(job), 0), Families: of, Prompt: true}, func(r loader.Row) error {
		c = contentOf(r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the state of job %s: %w", job, t.unfit(err))
	}
	return c, nil
}

// All reads the content of every job, in the order of the names. A table that does not exist has no jobs.
func (t *Table) All(ctx context.Context, fn func(job string, c *Content) error) error {
	err := t.mayRead(ctx)
	if err == nil {
		err = t.cluster.Scan(ctx, loader.ScanRequest{Table: t.name, Families: families(), Prompt: true}, func(r loader.Row) error {
			return fn(string(r.Key), contentOf(r))
		})
	}
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	return t.unfit(err)
}

// A ForeignTableError reports a table without the families of a state table: it holds other data.
type ForeignTableError struct{ Table loader.TableName }

func (e *ForeignTableError) Error() string {
	return fmt.Sprintf("table %s is not a state table, which has the families %s and %s: name another table, or one that does not exist, which is then created", e.Table, recordFamily, ownerFamily)
}

// unfit returns a *[ForeignTableError] if a region server reports that a family does not exist, and an error with advice if it
// reports that the table is read-only, else err.
func (t *Table) unfit(err error) error {
	e, ok := errors.AsType[*loader.RemoteError](err)
	switch {
	case ok && strings.HasSuffix(e.Class, ".NoSuchColumnFamilyException"):
		return &ForeignTableError{t.name}
	case ok && strings.Contains(e.Message, "is read only"): // HRegion.checkReadOnly, HBase 2.6
		return fail.Errorf(fail.Check, "table %s of jobs' state is read-only: set READONLY to false: %w", t.name, err)
	}
	return err
}

// contentOf parses a row. It copies the bytes that it keeps. A row that this package has not written has a last line that is not a record, but names what
// is wrong: the reader of the journal refuses it, and other jobs are not affected.
func contentOf(r loader.Row) *Content {
	c := &Content{}
	var parts []record
	var damage error
	for _, cell := range r.Cells {
		c.cells = append(c.cells, loader.Cell{Family: bytes.Clone(cell.Family), Qualifier: bytes.Clone(cell.Qualifier), Timestamp: cell.Timestamp})
		switch {
		case string(cell.Family) == recordFamily:
			p, err := parseRecord(cell.Qualifier)
			if err != nil {
				damage = err
			}
			p.text = bytes.Clone(cell.Value)
			parts = append(parts, p)
		case bytes.Equal(cell.Qualifier, ownerColumn):
			c.owner = bytes.Clone(cell.Value)
			if json.Unmarshal(c.owner, &c.Holder) != nil {
				c.Holder = Holder{Host: "an unknown host"}
			}
		case bytes.Equal(cell.Qualifier, beatColumn):
			c.beat = bytes.Clone(cell.Value)
			if _, live, ok := bytes.Cut(c.beat, []byte("\n")); ok && len(live) > 0 {
				c.Live = live
			}
		}
	}
	if damage == nil {
		damage = c.assemble(parts)
	}
	if damage != nil {
		c.Records = append(c.Records, []byte(damage.Error()))
	}
	return c
}

// assemble assembles the records of the holder's generation. Those of a row without a readable owner have the last one.
func (c *Content) assemble(parts []record) error {
	slices.SortFunc(parts, record.compare)
	if n := len(parts); n > 0 && c.Holder.Epoch == 0 {
		c.Holder.Generation = parts[n-1].generation
	}
	for _, p := range parts {
		switch n := int64(len(c.Records)); {
		case p.generation > c.Holder.Generation:
			return fmt.Errorf("record %d is of generation %d, and the owner of %d", p.number, p.generation, c.Holder.Generation)
		case p.generation < c.Holder.Generation:
		case p.number == n+1 && p.part == 0:
			c.Records = append(c.Records, p.text)
		case p.number == n && p.part > 0:
			c.Records[n-1] = append(c.Records[n-1], p.text...)
		default:
			return fmt.Errorf("record %d is missing", n+1)
		}
	}
	return nil
}

// record is a cell of a record. A record longer than maxPart has several.
type record struct {
	generation, number, part int64
	text                     []byte
}

// maxPart is far below the largest cell that region servers accept (hbase.server.keyvalue.maxsize, 10 MiB).
const maxPart = 1 << 20

const recordForm = "%06d-%012d-%06d" // fixed width, so that names sort by their numbers

func parseRecord(qualifier []byte) (r record, err error) {
	if _, err := fmt.Sscanf(string(qualifier), recordForm, &r.generation, &r.number, &r.part); err != nil {
		return r, fmt.Errorf("%q is not the key of a record", qualifier)
	}
	return r, nil
}

func (r record) compare(o record) int {
	return slices.Compare([]int64{r.generation, r.number, r.part}, []int64{o.generation, o.number, o.part})
}

// recordCells returns the cells of a record.
func recordCells(generation, number int64, line []byte) (cells []loader.Cell) {
	for part := int64(0); part == 0 || len(line) > 0; part++ {
		n := min(len(line), maxPart)
		cells = append(cells, loader.Cell{Family: []byte(recordFamily), Qualifier: fmt.Appendf(nil, recordForm, generation, number, part), Value: line[:n]})
		line = line[n:]
	}
	return cells
}

// create creates the table. It is not an error if another process has created the table meanwhile.
func (t *Table) create(ctx context.Context) error {
	spec := loader.TableSpec{Name: t.name}
	for _, name := range families() {
		spec.Families = append(spec.Families, loader.Family{Name: name, Versions: 1})
	}
	err := t.cluster.CreateTable(ctx, spec)
	if errors.Is(err, loader.ErrTableExists) {
		return nil
	}
	return err
}

// Holder is a process that works on a job, or was the last to work on it.
type Holder struct {
	Epoch      int64     `json:"epoch"`      // the previous holder's plus one
	Generation int64     `json:"generation"` // of the records: those of earlier generations are discarded
	PID        int       `json:"pid"`
	Host       string    `json:"host"`
	Space      string    `json:"space"`           // scope of the PID: the machine's boot, and the PID namespace
	Since      time.Time `json:"since"`           // by the holder's clock
	Start      int64     `json:"start,omitempty"` // start of the process in ticks since boot, which steps of the clock do not change; 0 in records of version 0.1
	Mark       string    `json:"mark"`            // random, so that no two holders are equal
	Released   bool      `json:"released,omitempty"`
}

func (h Holder) String() string {
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
}

// thisProcess returns this process as a holder, since now.
func thisProcess() (Holder, error) {
	o, err := journal.Self(time.Now())
	if err != nil {
		return Holder{}, fmt.Errorf("name of this host: %w", err)
	}
	return Holder{PID: o.PID, Host: o.Host, Since: o.Since, Start: o.Start, Space: processSpace(), Mark: rand.Text()}, nil
}

// processSpace returns the scope in which PIDs are unique: the machine since its boot, and one PID namespace. Empty if the system does not provide
// it.
func processSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + " " + space
}

// ended reports whether the holder was a process of this machine that does not run any more.
func (h Holder) ended(self Holder) bool {
	if h.Space == "" || h.Space != self.Space {
		return false
	}
	runs, here := journal.Owner{PID: h.PID, Host: h.Host, Since: h.Since, Start: h.Start}.Running()
	return here && !runs
}
