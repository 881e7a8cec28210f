// Package statetable keeps the journals of jobs in an HBase table, where every host of a team reaches them.
//
// A journal is one row, whose key is the job's name. Family o has its owner, a process that works on the job, and the owner's beat, which changes
// every two seconds; family j has the records, one or more cells per record. HBase changes a row atomically, so each record is written under the
// condition that the writer is still the owner (checkAndMutate). A process that was suspended while another one took over its job cannot record
// anything any more, and notices that with its next record or beat.
//
// [Table.Take] makes a process the owner: immediately if the last owner has released the job, or is a process of this machine that has ended;
// otherwise after 20 seconds without a beat. No clocks are compared: the process that takes over measures the silence itself.
//
// A record is durable when [Owner.Append] returns: region servers sync their log before they answer.
//
// Journals could be on HDFS as well. On one machine with all servers a record takes 6 ms here, and 25 ms where a file on HDFS is opened for each
// record; a file that stays open excludes every other client for minutes after its writer has died (two and a half, by the lease), and nothing there
// ties a record to an owner.
package statetable
