// Package table says how a table should be made: how many regions it needs
// ([Advise]), what it was made with ([Template]), whether one that exists is what
// is asked for, and the statement of HBase's shell that makes it.
package table
