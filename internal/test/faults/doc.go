// Package faults runs the built program on a real cluster, does it harm, and judges the table afterwards.
//
// A [Lab] is a cluster of two region servers and two DataNodes with a proxy in front of each region
// server. A [Round] makes a [Job] (random rows, form, files, regions, memory, way of staging), starts
// "bulkload run", injects one [Fault] at a moment that a [Trigger] names, heals what it broke, and does
// what the documents ask an operator to do: the same command again, three times at the most. Then it
// looks at the outcome:
//
//   - the last exit code is 0;
//   - rows, cells and SHA-256 of a scan by HBase's Java client are those of the generator's rows, which
//     are computed here from the record's fields and not by any code that the program uses;
//   - the result that the command prints counts as many records and rows;
//   - the store files of the table hold as many cells as were put and loaded, so that nothing is in
//     there twice where a scan does not show it;
//   - the job's staging directory and HBase's hold no file, the spill directory is empty, and no process
//     is left.
//
// A fault of [Seams] takes away what the job rests on: [InputChange] its input, [BitFlip] one of its
// staged files, [Recreate] its table. The program may refuse then, by an exit code that is not 0 and a
// message that names the input, the file or the table. It is given the command with --restart, once, and
// the table must be exactly right after it, or the refusal stay where there is no export any more. What
// is never right is an exit code 0 with a table that is not exactly one state of the input: such an
// outcome is [Outcome.Silent].
//
// A harm that comes too late does not count: a bit of a file that the running program may have read for the last
// time before it loads it, or that HBase has, a table that is made again when all of it was loaded and looked at, the rest of an input when the job is done.
//
// A [KillRound] does the same with each command that changes a table or writes files, and kills it, or disturbs the cluster while it runs.
//
// Everything random follows from the seed of the round; a [Mix] says which kind a seed has. When a fault
// hits is up to the machine. Labs share nothing: several may run side by side on one machine.
package faults
