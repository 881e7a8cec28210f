// Package hadooprpc opens connections of Hadoop's RPC, version 9, to secured servers.
//
// [Dial] logs in by SASL, with Kerberos or with a delegation token, and gives a connection that seals what is written and
// opens what is read. A client library that knows nothing of this talks to it in the clear: what it sends as the beginning
// of a connection is swallowed, since that was sent. A [Caller] makes calls of its own on such a connection.
//
// The messages are those of RpcHeader.proto and IpcConnectionContext.proto in Hadoop 3.4.
package hadooprpc
