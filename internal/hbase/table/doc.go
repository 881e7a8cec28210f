// Package table helps to create tables: it recommends a number of regions ([Advise]), reads
// the settings of a table ([Template]), checks whether an existing table matches a request
// ([Same]), and prints the statement of HBase's shell that creates it ([Statement]).
package table
