// Package rowjson encodes rows of a table as JSON objects according to the mapping of the job that wrote them. [New]
// returns the shape of a job's rows, [Shape.Select] the shape of some of its columns, and an [Encoder] appends rows,
// without an allocation for each value. Columns that a row lacks are null. Cells that the job does not name follow,
// under their own names.
package rowjson
