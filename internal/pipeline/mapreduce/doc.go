// Package mapreduce builds HFiles as one MapReduce job on YARN, with Hadoop Streaming. The result is that of a build in one process,
// byte for byte, regardless of the number of tasks and attempts.
//
// A map task is pass 1 on a share of the input (package share): it sorts its rows and writes them as chunks (package chunk), whose keys
// begin with the number of their region. Hadoop moves the chunks and passes each reduce task the chunks of its regions, in order. A
// reduce task is pass 2: it merges chunks as they arrive and writes HFiles. A reduce describes its work in a file of its output, which
// Hadoop commits together with the HFiles, for one attempt of each task. Each attempt of a map describes its work in the job's directory.
// [Adopt] compares all descriptions with each other before it takes over a file.
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
// Every submission has a tag of its own, and therefore a directory that no other writes: a forgotten job can waste time, but
// do no harm.
//
// [Process] runs in a container, [Engine] submits a job and monitors it.
package mapreduce
