// Package encode writes the merged rows of a region into the HFiles of its families. A [Sink] is the file of one family, a [Region] what the rows
// come to: their digest, counts, times and samples. Rows of cells with one time go by templates, others cell by cell, and records of a wide row
// are put together first.
//
// A [PieceWriter] has [Idle] workers take apart rows ahead of it, and appends them in the order of keys, so that the files do not depend on the
// number of workers. Begin with region.go and pieces.go.
package encode
