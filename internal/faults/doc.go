// Package faults runs the built program on a real cluster, does it harm, and judges the table afterwards.
//
// A [Lab] is a cluster of two region servers and two DataNodes with a proxy in front of each region
// server. A [Round] makes a [Job] (random rows, form, regions, memory, way of staging), starts
// "bulkload run", injects one [Fault] at a moment that a [Trigger] names, heals what it broke, and does
// what the documents tell an operator to do: the same command again, three times at the most. Then it
// looks at what came of it:
//
//   - the last exit code is 0;
//   - rows, cells and SHA-256 of a scan by HBase's Java client are those of the generator's rows, which
//     are computed here from the record's fields and not by any code that the program uses;
//   - the store files of the table hold as many cells as were put and loaded, so that nothing is in
//     there twice where a scan does not show it;
//   - the job's staging directory and HBase's hold no file, the spill directory is empty, and no process
//     is left.
//
// Everything random follows from the seed of the round. When a fault hits is up to the machine.
package faults
