// Package objectstore reads buckets of object stores as file systems: S3 and what speaks its protocol (s3, s3a, oss, obs), Google Cloud
// Storage (gs) and Azure's blobs and Data Lake (abfs, abfss). Nothing is written.
//
// It is on a separate floor above internal/hadoop: it handles requests and their answers, and does not depend on formats, splits or jobs. A
// [Stores] finds the [Store] of a name, which is one bucket; [Place] is a parsed name. Three requests do all the work, by one path
// (request.go): a page of a list, the description of an object, a range of its bytes. A protocol (s3.go, gcs.go, azure.go) makes them and
// reads their answers. Credentials and signatures are those of the providers' libraries; the requests are our own, so that each has the
// same repeats, the same checks of lengths and the same messages, in which no address with a signature and no credential stands.
//
// An object has no inode. What it is are its name, size, time and tag: the ETag, or of Google the generation. Each range is asked for on
// the condition that the tag is the same, so that an object that changes while it is read is an error, whatever was read before.
package objectstore
