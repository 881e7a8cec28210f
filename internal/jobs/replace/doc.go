// Package replace finds what a table has besides an export that is about to be
// loaded, and writes the delete markers by which the table holds exactly the
// export after the load.
//
// # How
//
// All cells of the export have the job's timestamp T. A snapshot of the table is
// read region by region together with the export's HFiles, both in row order. If a
// row has in a family a visible cell whose column the export does not write, the
// row gets a delete marker DeleteFamily(T−1) in that family. It hides all cells of
// the row and family that are older than T, whenever they were written, but no cell
// of T: the export's own cells stay visible, whether markers and cells are loaded
// together or the markers first. So a row that is not in the export disappears in
// every family, and a row that has lost a column loses it. A row whose visible
// columns are all written by the export gets no marker, since the cells of T are
// newer. There are two exceptions, because readers would see the older cells: a
// family that keeps several versions, and an export whose cells may expire.
//
// # What is refused
//
// A visible cell that is newer than T, or that has timestamp T in a column that the
// export does not write, would stay visible: [Survey.Refuse] counts and names both.
// It also refuses to delete more rows than a [spec.DeleteLimit] allows.
//
// # Bounds
//
// Several goroutines read regions concurrently, each with the memory of a
// [snapshot.Scan] and of one open HFile for each family of the export. There is no
// memory per row. Cells that others write after the snapshot was taken are not
// seen.
package replace
