// Package share builds one set of HFiles with several processes that have a common directory: any number of shares read a part of
// the input each, and one or more merges write the HFiles. The result is that of one build, byte for byte, regardless of their
// numbers.
//
// Everything that must be decided once is in a [Plan], a file: the job, the regions, the families' settings, the timestamp,
// the state of the input files and the splits in which they are read. [Build] reads share K of N and writes into the shared
// directory
//
//	share-00003-of-00007.1.TOKEN.chunks   its rows, see package chunk
//	share-00003-of-00007.1.TOKEN.json     its description, written last: a share without it does not count
//
// where 1 is the attempt. Each attempt uses names of its own, so that two concurrent ones are harmless, and files that a
// killed one has left do not count; of several complete ones the last counts. [Merge] returns an error if a share is missing,
// belongs to another plan, or does not match its description. It writes the regions of merge K of M; the merge that finds all
// others finished writes the manifest. In a job of several tables a share has the rows of all tables, and merges write each
// table into a directory of its own. Merges record their work in _merge of the output, which loads ignore.
//
// A plan with [NewKeys] is for the rows of a snapshot, to which package newkeys assigns new keys. A share has some of the snapshot's regions or
// parts of them; merges write into the staging directory of the job that has made the plan.
package share
