// Package yarn asks a YARN cluster about applications, over the REST interfaces of its ResourceManager, of the
// ApplicationMaster of a MapReduce job, and of MapReduce's history server: an application by its id or by a tag, the tasks
// of its job with their attempts and counters, what an attempt wrote on standard error, and the nodes with their processors. It kills
// applications; it submits none.
//
// [FromConf] takes addresses from a Hadoop configuration; of several ResourceManagers the active one is found. A [Client]
// authenticates by SPNEGO where the server wants it, or gives a user's name otherwise.
//
// Times are in UTC, with milliseconds. Every answer is bounded and has a deadline. Nothing is retried: callers ask again
// anyway. The errors on which they decide are [ErrUnknown], [ErrUnreachable] and [ErrDenied].
//
// The answers are those of Hadoop 3.4.3; fields that an older one does not have are zero.
package yarn
