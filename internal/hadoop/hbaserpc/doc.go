// Package hbaserpc opens connections of HBase's RPC to secured servers: it logs in by SASL with Kerberos, and gives a
// connection that seals what is written and opens what is read, for a client library that knows nothing of this.
//
// The conversation is that of HBaseSaslRpcClient in HBase 2.6.
package hbaserpc
