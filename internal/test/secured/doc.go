// Package secured runs the built program against clusters with Kerberos and with encrypted data, one kind after the
// other, as a user without HDFS's superuser rights. It has tests only.
//
// The judges are HBase's own Java client, logged in by Kerberos, for the rows; HDFS's own shell for owners and modes; a
// second implementation of the row keys for the expected rows; and the bytes on the sockets for the encryption: a program
// whose net package records all that it reads and writes (testdata/spy) is built from the same sources.
//
// The quick part, at privacy with AES, takes two minutes and runs wherever a KDC is installed. BULKLOAD_SECURE=1 runs all
// of it. With -short nothing runs. BULKLOAD_CLUSTER_CONF may name a running cluster of the kind that a test needs.
package secured
