package source

import (
	"io/fs"
	"os"

	"bulkload/internal/formats/rejects"
	"bulkload/pkg/setting"
)

// RejectFile collects records that are not loaded in a local file, one JSON object a line: bad ones, those that a filter excludes, or duplicates.
// Its first line describes how the records were read:
//
//	{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["id","check_id"]}
//	{"path":"check.csv","offset":2301,"record":17,"column":"check_id","reason":"…","raw":"…"}
//
// so that it can be read as an input again, by [FormatRejects]; if that changes from one file to the next, another such line
// precedes the first record. "partitions" there, such as ["dt=2026-11-01"], are columns that the records had by their path; "headed" says that
// a header has named a single column. "since" is
// there when record counts from that byte of the file on; "lines" when the
// record spans several; "column" and "value" when one column is at fault. "raw" is the record without its end mark,
// "raw_base64" stands in for it when its bytes are not the same characters in UTF-8. Parquet and Avro have no such thing: raw is a line of CSV then,
// in which NULL is \N, and the first line has "values". "kept" of a duplicate is the place of the record that is loaded in its stead.
//
// The order of lines is that of the input, however the records came in. Until Finish they are in a temporary file next to
// it, which takes a few megabytes of memory, however many they are. Its methods may be called by any number of goroutines.
type RejectFile struct {
	file *rejects.File
	name setting.Name
}

// NewRejectFile returns a reject file with the given local path. Nothing is created before the first record, so a job without
// bad records leaves no file, and one that has some replaces an earlier reject file.
func NewRejectFile(path string) *RejectFile { return newRejectFile(setting.RejectFile, path) }

// NewFilteredFile returns a reject file for the records that a filter excludes.
func NewFilteredFile(path string) *RejectFile { return newRejectFile(setting.FilteredFile, path) }

// NewDuplicatesFile returns a reject file for records that lost against another with the same key.
func NewDuplicatesFile(path string) *RejectFile { return newRejectFile(setting.DuplicatesFile, path) }

func newRejectFile(name setting.Name, path string) *RejectFile {
	return &RejectFile{rejects.NewFile(name, path), name}
}

// Path returns the path of the finished file.
func (f *RejectFile) Path() string { return f.file.Path() }

// Check reports before any work whether the file can be written: its directory exists, and a file of its name, if there is one, is an
// earlier reject file and not an input.
func (f *RejectFile) Check(in *Input) error {
	return f.file.Check(func(info fs.FileInfo) error {
		if in == nil {
			return nil
		}
		return in.notInput(info, f.name)
	})
}

// Write adds a record. It does not keep e.
func (f *RejectFile) Write(e RowError) error {
	return f.file.Write(e.split, e.form, &rejects.Record{Path: e.Path, Offset: e.Offset, Number: e.Record, Since: e.Since, Lines: e.Lines,
		Column: e.Column, Reason: e.Reason, Err: e.Err, Raw: e.Raw, Kept: (*rejects.Place)(e.Kept)})
}

// Finish writes the records in order, gives the file its name, and returns their number. Failed jobs call it too: the file has the reason.
// After it, Abort does nothing.
func (f *RejectFile) Finish() (records int, err error) { return f.file.Finish() }

// Abort drops all records.
func (f *RejectFile) Abort() error { return f.file.Abort() }

// RemoveTemp removes the temporary files that a killed process has left next to a reject file, for callers that know that no other process
// is writing it.
func (f *RejectFile) RemoveTemp() error { return f.file.RemoveTemp() }

// notInput returns an error if a file is one of the inputs, under any name.
func (in *Input) notInput(info fs.FileInfo, name setting.Name) error {
	for _, f := range in.files {
		if os.SameFile(f.Info, info) {
			return setting.Errorf("%w: it is the input %s (name another with %s)", rejects.ErrPath, f.Path, name)
		}
	}
	return nil
}
