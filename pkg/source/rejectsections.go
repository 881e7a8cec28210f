package source

import (
	"fmt"
	"io"
	"slices"
	"sort"

	"bulkload/internal/formats/rejects"
	"bulkload/pkg/source/listing"
)

// rejectSection is a run of records of a reject file with the same values from their path.
type rejectSection struct {
	at        int64 // where they begin in the text of all records
	constants []Partition
	form      *rejects.Form // of those that are bad again
}

// probeSections finds the sections of a reject file whose records had columns from their path, which requires reading it.
func (f *inputFile) probeSections(r *rejects.Reader, o *Options) error {
	where, err := listing.ParseWhere(o.Where)
	if err != nil {
		return err
	}
	if len(f.rejects.Partitions) > 0 {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return err
		}
		for _, s := range r.Sections() {
			f.sections = append(f.sections, rejectSection{at: s.At, constants: listing.ParsePartitions(s.Partitions)})
		}
		f.Partitions = f.sections[0].constants
	}
	for i := range where {
		c := &where[i]
		if at := constantAt(f.Partitions, c.Name); at >= 0 {
			for _, s := range f.sections {
				if !c.Admits(s.constants[at]) {
					return fmt.Errorf("%s: it has records that where %s leaves out: make a file of its own of those that are to be loaded, or load all without it", f.Path, c.Text)
				}
			}
			continue
		}
		return fmt.Errorf("where %s: the records of %s have no partition column of that name; they have %s", c.Text, f.Path, listing.NameList(listing.Names(f.Partitions)))
	}
	return nil
}

// constantAt returns the index of the column of a name, -1 if there is none.
func constantAt(list []Partition, name string) int {
	return slices.IndexFunc(list, func(c Partition) bool { return c.Name == name })
}

// formSections creates the forms for records that are rejected again.
func (f *inputFile) formSections() {
	for i := range f.sections {
		form := *f.form
		form.Partitions = listing.Texts(f.sections[i].constants)
		f.sections[i].form = &form
	}
}

// sectionAt returns the index of a record's section. There must be sections.
func (f *inputFile) sectionAt(offset int64) int {
	return max(sort.Search(len(f.sections), func(i int) bool { return f.sections[i].at > offset })-1, 0)
}

// formAt returns the form of a bad record that begins at a byte of the text.
func (f *inputFile) formAt(offset int64) *rejects.Form {
	if len(f.sections) == 0 {
		return f.form
	}
	return f.sections[f.sectionAt(offset)].form
}

// constantsAt returns the values from the path of the first of the records, and the number of records that share them.
func (f *inputFile) constantsAt(offsets []int64) (constants []Partition, rows int) {
	if len(f.sections) == 0 {
		return f.Partitions, len(offsets)
	}
	s := f.sectionAt(offsets[0])
	rows = len(offsets)
	if s+1 < len(f.sections) {
		next := f.sections[s+1].at
		rows = sort.Search(rows, func(i int) bool { return offsets[i] >= next })
	}
	return f.sections[s].constants, max(rows, 1)
}
