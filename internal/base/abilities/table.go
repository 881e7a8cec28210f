package abilities

import "bulkload/pkg/setting"

// by returns a cell that tests show.
func by(tests ...string) Cell { return Cell{Tests: tests} }

// seen returns a cell that the script of kinds of jobs shows.
func seen() Cell { return by("cmd/bulkload: TestClusterScripts/seen") }

// no returns a cell for an ability that is missing, with the reason.
func no(why string, names ...any) Cell { return Cell{Why: setting.Textf(why, names...)} }

// but adds why a part of the cell is refused.
func (c Cell) but(why string, names ...any) Cell {
	c.Why = setting.Textf(why, names...)
	return c
}

// table has all cells that tests show or that have a reason.
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
