// Package preflight finds problems before a job that would stop it later: each
// [Check] reports what is wrong and how to fix it. Every change that it makes is
// reverted at once: it writes, renames and removes a file in the staging directory,
// and creates and removes a directory in HBase's own staging directory.
package preflight
