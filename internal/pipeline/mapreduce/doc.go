// Package mapreduce builds HFiles as one MapReduce job on YARN, by Hadoop Streaming. The result equals that of a build in one process, byte
// for byte, whatever the number of tasks and of their attempts.
//
// A map task is pass 1 on a share of the input (package share): it sorts its rows and writes them as chunks (package chunk), whose keys
// begin with the number of their region. Hadoop moves the chunks and gives each reduce task the chunks of its regions, in order. A reduce task
// is pass 2: it merges chunks as they come and writes HFiles. Each reduce describes its work in a file of its output, which Hadoop
// commits together with the HFiles, for one attempt of each task. Each attempt of a map describes its work in the job's
// directory. [Adopt] compares all descriptions before a file is taken.
//
// A job's directory is
//
//	<staging>/_yarn-<tag>/
//	├── work.json       the plan and its division into tasks; tasks have no other settings
//	├── items           a line for each map: its share, K/N
//	├── partitions      the first region of each reduce but the first
//	├── errors/         the errors of failed attempts, one file each; a permanent one ends later attempts at once
//	├── maps/           descriptions of the attempts of maps, with their bad records
//	└── out/            the output: _reduces/ with descriptions, <family>/ with HFiles (of several tables <table>/<family>/),
//	                    _SUCCESS when the job has
//
// Every submission has its own tag, and so a directory that no other writes: a job that is forgotten can waste time, not
// do harm.
//
// [Process] runs in a container, [Engine] submits a job and watches it.
package mapreduce
