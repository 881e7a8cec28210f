// Package verify compares a table with what a build wrote: all of its cells of the
// job's timestamp by a digest ([Full]), the files in its stores by their checksums
// ([Files]), or the rows that the manifest names ([Sample]). What others' cells hide from readers is counted, not missed.
package verify
