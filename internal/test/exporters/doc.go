// Package exporters has the tests that let real exporters write (make test-exporters): a MariaDB and a PostgreSQL of
// Debian's packages and Spark from Maven, with Hive's SerDes, export the awkward table of testdata/source/dialects and random
// tables of awkward values, and each file is read with its preset and exactly the settings that say what its exporter was
// given. The judge of the awkward table is its manifest; that of a random table is the table itself.
//
// TestCalendars has Spark write old dates and timestamps by both calendars in several time zones, and is held to what Spark itself reads.
// testdata/source/calendars has some of these files.
//
// BULKLOAD_EXPORTERS_SEEDS is how many random tables there are (2), BULKLOAD_EXPORTERS_FORMS a pattern of the names of Spark's
// forms, to try some of them.
//
// Packages and jars are in the user's cache, below bulkload/exporters. The servers are private: they run as nobody where the
// tests run as root, listen on a socket in a temporary directory and on no port, and end with the test.
package exporters
