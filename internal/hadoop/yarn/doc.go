// Package yarn queries a YARN cluster about applications, over the REST APIs of its ResourceManager, of the ApplicationMaster of a
// MapReduce job, and of MapReduce's history server: an application by its id or by a tag, the tasks of its job with their attempts
// and counters, the standard error of an attempt, and the nodes with their processors. It can kill applications, by RPC, but not submit them.
//
// [FromConf] reads addresses from a Hadoop configuration; the active one of several ResourceManagers is found automatically. A
// [Client] authenticates by SPNEGO if the server requires it, otherwise it sends a user name.
//
// Times are in UTC, with milliseconds. Every response is limited in size and has a deadline. Requests are not retried, because
// callers poll. The errors that callers handle are [ErrUnknown], [ErrUnreachable] and [ErrDenied].
//
// The response formats are those of Hadoop 3.4.3; fields that an older version does not have are zero.
package yarn
