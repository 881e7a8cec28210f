// Package streaming implements both ends of Hadoop Streaming: it submits a MapReduce job whose tasks run a program, and it
// provides the functions that such a program needs inside a task.
//
// On an edge node, [Find] searches for Hadoop's client, a [Job] describes the program to run, and [Client.Submit] submits it
// and returns the id of the application. [WritePartitions] writes the file that assigns keys to reduces.
//
// Inside a task, [TaskFrom] reads the task's environment; [Status] and [Count] report to the ApplicationMaster.
//
// Records of "rawbytes", in both directions, are concatenated without framing:
//
//	+------------------+-----+--------------------+-------+
//	| u32 BE key bytes | key | u32 BE value bytes | value |
//	+------------------+-----+--------------------+-------+
//
// The partition file is an uncompressed SequenceFile of version 6 with BytesWritable keys and NullWritable values:
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
// The formats are taken from hadoop-streaming 3.4.2 and hadoop-mapreduce-client-core 3.4.3.
package streaming
