// Package rowjson writes rows of a table as JSON objects by the mapping of the job that wrote them: [New] makes the
// shape of a job's rows, [Shape.Select] that of some of its columns, and an [Encoder] appends rows, without an
// allocation for a value. Columns that a row lacks are null. Cells that the job does not name follow, under their own
// names.
package rowjson
