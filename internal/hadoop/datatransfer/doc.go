// Package datatransfer logs in at DataNodes and protects what goes to them and comes from them: with the block token that a
// request carries, or with a key for encrypted data (dfs.encrypt.data.transfer), by SASL, and with AES where both sides
// have it.
//
// The conversation is that of SaslDataTransferClient in Hadoop 3.4, its messages those of datatransfer.proto.
package datatransfer
