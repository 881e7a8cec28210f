// Package filecheck reads HFiles whole before HBase gets them. A file whose
// checksum a manifest knows is compared with it; another is checked block by block
// and cell by cell, as package hfile does it. [ReadMeta] reads only what a file
// says of itself.
package filecheck
