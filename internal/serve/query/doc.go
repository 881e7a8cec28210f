// Package query reads rows of a table in the form in which a job wrote them: by a query key, or by a range whose rows
// are merged over all salts and paged ([Read]). [Table] serves many queries of one table on one open cluster. The key
// spec determines where rows are. A page token names a row, so no scanner stays open.
package query
