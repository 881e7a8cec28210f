// Package fresh makes the table that takes the place of another, and drops that
// other one when its place is taken.
//
// # The table
//
// [Make] creates it with the old table's descriptor as it is now: families with
// all settings, attributes, configuration, coprocessors; only READONLY is left out,
// since the table is to be loaded. It has the old table's split points or others.
// What is not in a descriptor does not come along: grants, quotas, snapshots.
// The journal names the table before it is created. A table of that name that the
// job did not make is refused, so that no rows of others are mixed with the export's;
// one that a killed attempt may have made is taken if it is empty and has the
// settings and split points that were to be.
//
// # The old one
//
// It is only read until [Drop], which refuses unless the job's journal says that the
// new table was loaded and verified, and both tables are still those that the job
// knew: names are used again, night after night. A drop that was stopped is
// finished by the same call.
package fresh
