// Package fresh makes the table that takes the place of another, and drops that
// other one when its place is taken.
//
// # The table
//
// [Make] creates it with the old table's current descriptor: families with all
// settings, attributes, configuration, coprocessors. Only READONLY is left out,
// since the table is to be loaded. It has the old table's split points or others.
// Properties outside the descriptor are not copied: grants, quotas, snapshots. The
// journal names the table before it is created. A table of that name that the job
// did not make is refused, so that foreign rows are not mixed with the export's. A
// table that a killed attempt may have made is used if it is empty and has the
// intended settings and split points.
//
// # The old one
//
// It is only read until [Drop], which refuses unless the job's journal shows that
// the new table was loaded and verified, and both tables are still those that the
// job knew: names are used again, night after night. The same call completes a drop
// that was interrupted.
package fresh
