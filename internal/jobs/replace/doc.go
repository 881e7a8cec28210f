// Package replace finds what a table has besides an export that is about to be
// loaded, and writes the delete markers by which the table holds exactly the
// export after the load.
//
// # How
//
// All cells of the export have the job's timestamp T. A snapshot of the table is
// read region by region together with the export's HFiles, both in the order of their
// rows. Where a row has in a family a visible cell whose column the export does
// not write, the row gets a marker DeleteFamily(T−1) in that family. It hides all
// cells of the row and family that are older than T, whenever they were written,
// and none of T: the export's own cells stay visible, whether markers and cells
// come in one load or the markers come first. So a row that is not in the export
// vanishes in every family, and one that has lost a column loses it. A row of
// which the export writes every visible column gets no marker: the cells of T are
// newer. But in a family that keeps several versions, and of an export whose cells
// may expire, it gets one too: readers would see the older cells.
//
// # What is refused
//
// A visible cell that is newer than T, or of T itself in a column that the export
// does not write, would stay visible: [Refuse] counts and names both. So are
// deletions of more rows than a [spec.DeleteLimit] allows.
//
// # Bounds
//
// Regions are read by some goroutines at a time, each with the memory of a
// [snapshot.Scan] and of one open HFile for each family of the export; nothing is
// held for a row. What others write after the snapshot was taken is not seen.
package replace
