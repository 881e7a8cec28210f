// Package kms requests the data keys of files in encryption zones from Hadoop's key management servers (KMS, Hadoop 3.4) over their
// REST API.
//
// Each file in a zone has its own data key. The NameNode stores it encrypted with the zone's key, and only a KMS can decrypt it:
// [Client.DataKey]. Callers authenticate with a delegation token, with Kerberos or with their name. The servers of a list share their
// keys, so any of them can answer.
package kms
