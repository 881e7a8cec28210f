// Package share builds one set of HFiles by several processes that have a directory in common: as many shares as there are read a
// part of the input each, and one merge, or several, write the HFiles. The result equals that of one build, byte for byte, whatever
// their number.
//
// All that must be decided once is in a [Plan], a file: the job, the regions, the families' settings, the timestamp, the input
// files with their sizes and times, and the splits in which they are read. [Build] reads share K of N and writes into the shared directory
//
//	share-00003-of-00007.1.TOKEN.chunks   its rows, see package chunk
//	share-00003-of-00007.1.TOKEN.json     their description, written last: a share without it is ignored
//
// where 1 is the attempt. Each attempt writes other names, so that two of them at once are harmless, and the leftovers of a killed one
// are ignored; of several complete ones the last counts. [Merge] refuses a directory in which a share is missing, is of another
// plan, or differs from its description. It writes the regions of merge K of M; the merge that finds that all others are done writes
// the manifest. For a job of several tables a share has the rows of all, and merges write each table into its own directory. The
// descriptions of finished merges are in _merge of the output, which loads ignore.
//
// A plan with [NewKeys] gives new keys to the rows of a snapshot, by package newkeys. A share has some of the snapshot's regions or parts of
// them; merges write into the staging directory of the job that made the plan.
package share
