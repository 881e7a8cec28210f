// Package hfiletext is HFiles as text: [PrintMeta] and [PrintCells] print one, and [Write] makes one from lines of cells, with settings
// of HBase's configuration that [Define] applies.
package hfiletext
