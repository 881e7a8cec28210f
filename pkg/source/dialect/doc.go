// Package dialect describes how exporters write text: what stands between the
// columns and after a record, how values that have such bytes are quoted or
// escaped, what stands for NULL. [Preset] has the exporters' own defaults, whose
// settings can be changed one by one; the result is a [Dialect], checked as a whole.
//
// The presets are as observed in files of MariaDB 10.11, PostgreSQL 15, Hive 2.3.9's
// SerDes, Spark 3.5, Excel and SQL*Plus. Nothing here reads a file.
package dialect
