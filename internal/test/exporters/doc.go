// Package exporters tests with real exporters (make test-exporters). A MariaDB and a PostgreSQL of Debian's packages, and Spark
// from Maven with Hive's SerDes, export the awkward table of testdata/source/dialects and random tables of awkward values. Each file is
// read with its preset and exactly the settings that match the exporter's options. The judge of the awkward table is its manifest; that
// of a random table is the table itself.
//
// TestCalendars makes Spark write old dates and timestamps in both calendars and several time zones, and compares the result with Spark's
// own reading. testdata/source/calendars has some of these files.
//
// BULKLOAD_EXPORTERS_SEEDS is the number of random tables (2). BULKLOAD_EXPORTERS_FORMS is a pattern that selects Spark's forms by name.
//
// Packages and jars are in the user's cache, below bulkload/exporters. The servers are private: they run as nobody if the tests run as
// root, listen on a socket in a temporary directory and on no port, and end with the test.
package exporters
