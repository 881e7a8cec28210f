// Package datatransfer logs in at DataNodes and protects the connection in both directions: by SASL, with the block token
// of a request or with a key for encrypted data (dfs.encrypt.data.transfer), and with AES if both sides support it.
//
// It implements the protocol of SaslDataTransferClient in Hadoop 3.4, with the messages of datatransfer.proto.
package datatransfer
