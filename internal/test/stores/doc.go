// Package stores tests inputs in object stores as whole programs use them: random trees on local disk and in buckets, servers that do harm, and the
// servers of others (moto, Azurite, fake-gcs-server) as judges of the protocols. [S3] is a server for tests, [Proxy] does harm in front of one.
//
// make test-stores has the servers of others, which are installed by pip, npm and go.
package stores
