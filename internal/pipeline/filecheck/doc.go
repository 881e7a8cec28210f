// Package filecheck reads HFiles whole before HBase gets them. It compares a file
// with its checksum if a manifest has that; otherwise it checks the file block by
// block and cell by cell with package hfile. [ReadMeta] reads only a file's
// metadata.
package filecheck
