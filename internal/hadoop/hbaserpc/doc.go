// Package hbaserpc opens connections of HBase's RPC to secured servers. It logs in by SASL with Kerberos, and returns
// a connection that seals written data and opens read data, for a client library that does not support security.
//
// It implements the protocol of HBaseSaslRpcClient in HBase 2.6.
package hbaserpc
