// Package verify compares a table with the output of a build: all of its cells with the job's timestamp by a digest
// ([Full]), the files in its stores by their checksums ([Files]), or the sampled rows of the manifest ([Sample]). Cells
// that others' cells hide from readers are counted, and do not count as missing.
package verify
