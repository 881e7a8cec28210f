package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/test/bench/data"
)

// CaseGuard stands for the cases of GuardCases, which compare a release with the previous one.
const CaseGuard = "guard"

// Names of the guard's cases.
const (
	GuardDump    = "guard-dump"
	GuardCSV     = "guard-csv"
	GuardParquet = "guard-parquet"
	GuardOne     = "guard-region1"
	GuardMany    = "guard-regions1000"
	GuardSpill   = "guard-spill64"
)

// GuardCases returns the cases that guard stands for, in the order in which they run.
func GuardCases() []string {
	return []string{GuardDump, GuardCSV, GuardParquet, GuardOne, GuardMany, GuardSpill}
}

const (
	// guardLimit is the time after which a case of the guard begins no further round: all of them take five minutes
	// on two cores.
	guardLimit = 45 * time.Second
	// guardPart is the divisor of Config.Rows for the guard: more rounds show more than more rows.
	guardPart = 2
	// guardMemory is more than the memory of any of the guard's tools, in bytes.
	guardMemory = 1 << 30
	// guardSalts is the number of salts of the keys of a table with one region.
	guardSalts = 10
	// toolToday is the name of the checkout's current program.
	toolToday = "today"
)

// guardBuilds are the builds of the guard's cases; name and program are the tool's.
var guardBuilds = map[string]struct {
	title string
	run   buildRun
}{
	GuardDump:    {"from a dump into 10 regions", buildRun{form: data.Dump}},
	GuardCSV:     {"from CSV into 10 regions", buildRun{form: data.CSV}},
	GuardParquet: {"from Parquet into 10 regions", buildRun{form: data.Parquet}},
	GuardOne:     {"from a dump into one region", buildRun{form: data.Dump, regions: 1}},
	GuardMany:    {"from a dump into 1,000 regions", buildRun{form: data.Dump, regions: 1000}},
	GuardSpill:   {"from a dump into 10 regions with --memory 64MiB", buildRun{form: data.Dump, memory: "64MiB"}},
}

// guardCase compares a build by today's program with the same build by the previous release, and with the floor. A
// missing program is left out, and a note says so.
func (l *Lab) guardCase(name string) func(context.Context) (Case, error) {
	return func(ctx context.Context) (Case, error) {
		b := guardBuilds[name]
		b.run.spec = data.Spec{Table: data.Check, Rows: max(l.Rows/guardPart, 1), Seed: l.Seed, Regions: 10}
		b.run.name = toolToday
		c := Case{Name: name, Rounds: guardRounds(l.Rounds), Limit: guardLimit, Touch: guardMemory, Today: toolToday,
			Title: fmt.Sprintf("bulkload build of %s check rows %s", grouped(b.run.spec.Rows), b.title)}
		switch t, err := l.floorTool(ctx, b.run.spec); {
		case errors.Is(err, ErrNoFloor):
			c.Notes = append(c.Notes, "Without the floor: "+err.Error()+".")
		case err != nil:
			return Case{}, err
		default:
			c.Reference = t.Name
			c.Tools = append(c.Tools, t)
			if name != GuardDump {
				c.Notes = append(c.Notes, "floor builds 10 regions from the dump of the same rows, in memory, in every case.")
			}
		}
		runs := []buildRun{b.run}
		switch base, err := l.releaseBefore(ctx); {
		case errors.Is(err, ErrNoBaseline):
			c.Notes = append(c.Notes, "Without the release before: "+err.Error()+".")
			l.Log.Warn("the release before is left out", "why", err)
		case err != nil:
			return Case{}, err
		default:
			c.Baseline = base.name
			before := b.run
			before.name, before.program, before.examples = base.name, base.program, base.examples
			runs = append(runs, before)
			c.Notes = append(c.Notes, base.note)
		}
		return l.caseOf(ctx, c, runs...)
	}
}

// guardRounds returns seven rounds for each five of other cases: one disturbed round of seven does not hide a
// difference.
func guardRounds(rounds int) int { return rounds + rounds*2/5 }

// ReleaseRow returns the row of a release in the table of ratios of docs/performance.md: the results of the guard's
// cases against the floor, and the measures that differ from the previous release. It is empty unless all of the
// guard's cases are present.
func ReleaseRow(release string, cases []CaseReport) string {
	row, differs, baseline := "| "+release+" |", "", ""
	for _, name := range GuardCases() {
		i := slices.IndexFunc(cases, func(c CaseReport) bool { return c.Name == name })
		if i < 0 {
			return ""
		}
		c := &cases[i]
		cell := "–"
		if r := c.today().Ratio; r != nil {
			cell = fmt.Sprintf("%.2f, %.2f, %.2f", r.Wall.Median, r.CPU.Median, r.Peak.Median)
		}
		row += " " + cell + " |"
		if v := c.Verdict; v != nil {
			baseline = v.Baseline
			for _, m := range v.measures() {
				if m.Word != same {
					differs += fmt.Sprintf("; %s %s %.2f %s", name[len("guard-"):], m.name, m.Ratio.Median, m.Word)
				}
			}
		}
	}
	switch {
	case baseline == "":
		return row + " – |"
	case differs == "":
		return row + " " + baseline + ": same in all |"
	}
	return row + " " + baseline + ": " + differs[2:] + " |"
}
