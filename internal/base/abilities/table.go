package abilities

import "bulkload/pkg/setting"

// by returns a cell with tests.
func by(tests ...string) Cell { return Cell{Tests: tests} }

// seen returns a cell whose test is the script of the kinds of jobs.
func seen() Cell { return by("cmd/bulkload: TestClusterScripts/seen") }

// no returns a cell for an ability that is missing, with the reason.
func no(why string, names ...any) Cell { return Cell{Why: setting.Textf(why, names...)} }

// but adds the reason why a part of the cell is refused.
func (c Cell) but(why string, names ...any) Cell {
	c.Why = setting.Textf(why, names...)
	return c
}

// usual returns the cells of the abilities that most kinds of work have by the same tests, or lack for the same reason.
func usual() [columns]Cell {
	return [columns]Cell{
		Host:         by("internal/jobs/job: TestEveryCommandOnAnotherHost"),
		Report:       seen(),
		Metrics:      seen(),
		Lineage:      seen(),
		Status:       seen(),
		Clean:        seen(),
		Kerberos:     by("internal/test/secured: TestLevels/commands"),
		Unreplicated: by("internal/jobs/job: TestKindsOfRunsReplicated"),
		Quiet:        by("internal/jobs/job: TestQuietKinds"),
		Filtered:     by("internal/jobs/job: TestFilesOfKilledRuns"),
		Duplicates:   by("internal/jobs/job: TestFilesOfKilledRuns"),
		Part:         no("rows and cells of input tables alone, hbase:TABLE and snapshot:NAME, are bounded: %s chooses records of files", setting.Filter),
	}
}

// table returns all cells: the usual one where a kind of work names none of its own. Those with neither tests nor a reason are zero.
func table() [rows][columns]Cell {
	t := [rows][columns]Cell{
		Run: runCells(), Tables: tablesCells(), Replace: replaceCells(), Into: intoCells(), Rekey: rekeyCells(), Undo: undoCells(), Load: loadCells(), Export: exportCells(), Input: inputCells(), Compare: compareCells(), Clusters: clustersCells(),
	}
	for r := range t {
		for c, cell := range usual() {
			if len(t[r][c].Tests) == 0 && t[r][c].Why.IsZero() {
				t[r][c] = cell
			}
		}
	}
	return t
}
