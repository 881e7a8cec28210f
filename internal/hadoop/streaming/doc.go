// Package streaming is Hadoop Streaming from both ends: it submits a MapReduce job whose tasks are a program of one's own,
// and it is what such a program needs inside a task.
//
// On an edge node, [Find] looks for Hadoop's client, a [Job] says what to run, and [Client.Submit] hands it over and
// returns the id of the application. [WritePartitions] writes the file by which keys find their reduce.
//
// Inside a task, [TaskFrom] reads what Hadoop says in the environment; [Status] and [Count] report to the ApplicationMaster.
//
// The records of "rawbytes", in both directions, one after the other without anything around them:
//
//	+------------------+-----+--------------------+-------+
//	| u32 BE key bytes | key | u32 BE value bytes | value |
//	+------------------+-----+--------------------+-------+
//
// The partition file, a SequenceFile of version 6 with BytesWritable keys and NullWritable values, not compressed:
//
//	+-------------------------------------------------------------+
//	| "SEQ" 06                                                    |
//	| 22 "org.apache.hadoop.io.BytesWritable"    (hex lengths)    |
//	| 21 "org.apache.hadoop.io.NullWritable"                      |
//	| 00 00 not compressed | 00000000 no metadata | 16 bytes sync |
//	+-------------------------------------------------------------+
//	| u32 record bytes 4+n | u32 key bytes 4+n | u32 n | n bytes  |  for each key
//	+-------------------------------------------------------------+
//
// Read of hadoop-streaming 3.4.2 and hadoop-mapreduce-client-core 3.4.3.
package streaming
