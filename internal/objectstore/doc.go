// Package objectstore reads buckets of object stores as file systems: S3 and stores with its protocol (s3, s3a, oss, obs), Google Cloud
// Storage (gs), and Azure Blob Storage and Data Lake (abfs, abfss). It writes nothing.
//
// It is a separate layer above internal/hadoop: it handles requests and their answers, and does not depend on formats, splits or jobs. A
// [Stores] finds the [Store] of a name, which is one bucket; [Place] is a parsed name. Three requests do all the work, and share one path
// (request.go): a page of a list, the description of an object, a range of its bytes. A protocol (s3.go, gcs.go, azure.go) makes them and
// parses their answers. The providers' libraries supply credentials and signatures; the requests are our own, so that all have the same
// retries, the same checks of lengths and the same messages, which show no signed address and no credential.
//
// An object has no inode. Its name, size, time and tag identify it; the tag is the ETag, or Google's generation. Each request for a range
// requires an unchanged tag, so that an object that changes while it is read causes an error, whatever was read before.
package objectstore
