// Package kms asks Hadoop's key management servers (KMS, Hadoop 3.4) for the data keys of files in encryption zones, by the REST API.
//
// A file in a zone has a data key of its own. The NameNode keeps it encrypted by the key of the zone, and only a KMS decrypts it:
// [Client.DataKey]. Callers prove themselves by a delegation token, by Kerberos or by their name. The servers of a list share
// their keys, so that each of them can answer.
package kms
