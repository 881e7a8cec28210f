// Package hadooprpc opens connections of Hadoop's RPC, version 9, to secured servers.
//
// [Dial] logs in by SASL, with Kerberos or with a delegation token, and returns a connection that seals written data and
// opens read data. A client library that does not support security can use the connection: its connection header is
// discarded, because Dial has sent one already. A [Caller] makes its own calls on such a connection.
//
// The messages are defined in RpcHeader.proto and IpcConnectionContext.proto of Hadoop 3.4.
package hadooprpc
