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

// table returns all cells. Those with neither tests nor a reason are zero.
func table() (t [rows][columns]Cell) {
	t[Run] = runCells()
	t[Tables] = tablesCells()
	t[Replace] = replaceCells()
	t[Into] = intoCells()
	t[Rekey] = rekeyCells()
	t[Undo] = undoCells()
	t[Load] = loadCells()
	t[Export] = exportCells()
	t[Input] = inputCells()
	t[Compare] = compareCells()
	t[Clusters] = clustersCells()
	return t
}
