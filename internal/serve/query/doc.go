// Package query reads rows of a table as a job wrote them: by a query key, or by a range whose rows are merged over
// all salts and paged ([Read]); for many queries of one table, on one open cluster ([Table]). The key spec determines
// where rows are. A page token names a row, so no scanner stays open.
package query
