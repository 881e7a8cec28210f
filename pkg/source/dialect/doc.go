// Package dialect describes the text formats of exporters: the separators of columns and records, the quoting and escaping
// of values that contain them, and the written forms of NULL. [Preset] returns the exporters' own defaults, whose settings
// can be changed one by one; the result is a [Dialect], which is checked as a whole.
//
// The presets are as observed in files of MariaDB 10.11, PostgreSQL 15, Hive 2.3.9's
// SerDes, Spark 3.5, Excel and SQL*Plus. Nothing here reads a file.
package dialect
