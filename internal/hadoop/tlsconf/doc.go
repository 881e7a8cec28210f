// Package tlsconf implements the client's TLS configuration of HBase's RPC: the keys of hbase-site.xml that HBase 2.6
// reads (X509Util, HBaseTrustManager and NettyRpcConnection), stores of certificates and keys as PEM, JKS or PKCS12, and
// the handshake.
//
// Unsupported settings are refused with an error that names the key. Errors name keys, files, hosts and the contents of
// a server's certificate, never a password or the contents of a store. Limits on a store are checked before a library
// parses it, and a panic of a library becomes an error.
package tlsconf
