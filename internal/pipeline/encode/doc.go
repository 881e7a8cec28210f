// Package encode writes the merged rows of a region into the HFiles of its families. A [Sink] is the file of one family, a [Region] the totals of
// the rows: their digest, counts, times and samples. Rows whose cells have one time are encoded by templates, others cell by cell, and the
// records of a wide row are joined first.
//
// A [PieceWriter] has [Idle] workers decode rows ahead of it, and appends them in the order of keys, so that the files do not depend on the
// number of workers. Begin with region.go and pieces.go.
package encode
