// Package tlsconf is TLS of HBase's RPC as a client configures it: the keys of hbase-site.xml that HBase 2.6 reads
// (X509Util, HBaseTrustManager and NettyRpcConnection), stores of certificates and keys as PEM, JKS or PKCS12, and the
// handshake.
//
// What a key asks for and this package cannot do is refused by the key's name. Errors name keys, files, hosts and what a
// server's certificate says, never a password or what a store holds. A store is bounded before a library gets it, and a
// panic of a library is an error.
package tlsconf
