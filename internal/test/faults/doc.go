// Package faults runs the built program on a real cluster, injects faults, and checks the table afterwards.
//
// A [Lab] is a cluster of two region servers and two DataNodes with a proxy in front of each region server. A round ([Lab.Round]) makes a [Job]
// (random rows, form, files, regions, memory, way of staging), starts "bulkload run", injects one [Fault] at the moment of a [Trigger], repairs what
// it broke, and does what the documents instruct an operator to do: it runs the same command again, three times at the most. Then it checks the
// outcome:
//
//   - the last exit code is 0;
//   - rows, cells and SHA-256 of a scan by HBase's Java client are those of the generator's rows, which
//     are computed here from the record's fields, without any code that the program uses;
//   - the result that the command prints has the same numbers of records and rows;
//   - the store files of the table have as many cells as were put and loaded, so that no cell is
//     there twice where a scan does not show it;
//   - the job's staging directory and HBase's have no files, the spill directory is empty, and no process
//     is left.
//
// A fault of [Seams] affects the foundations of the job: [InputChange] its input, [BitFlip] one of its staged files, [Recreate] its table. The
// program may then refuse, with an exit code that is not 0 and a message that names the input, the file or the table. It is then run with --restart,
// once, and afterwards the table must be exactly right, or the refusal must stay if there is no export any more. An exit code 0 with a table that is
// not exactly one state of the input is never right: such an outcome is [Outcome.Silent].
//
// A fault that comes too late does not count: a flipped bit of a file that the running program may have read for the last time before it loads it, or
// that HBase has; a table that is recreated after all of it was loaded and checked; the rest of an input after the end of the job.
//
// A [KillRound] does the same with each command that changes a table or writes files. It kills the command, or disturbs the cluster while the command
// runs.
//
// All random choices follow from the seed of the round; a [Mix] determines the kind of a seed. The exact moment of a fault depends on the machine.
// Labs share nothing: several may run side by side on one machine.
package faults
