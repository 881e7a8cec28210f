// Package stores tests inputs in object stores through whole programs: random trees on local disk and in buckets, servers with faults, and
// third-party servers (moto, Azurite, fake-gcs-server) as judges of the protocols. [S3] is a server for tests, [Proxy] injects faults in front of a
// server.
//
// make test-stores runs with the third-party servers, which are installed by pip, npm and go.
package stores
