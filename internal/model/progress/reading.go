package progress

import (
	"fmt"
	"strings"
)

// Reading is how the inputs of a job are read, as it was found when they were opened.
type Reading struct {
	Ways       []Way         `json:"ways"`                  // in the order of the first file of each
	Partitions []string      `json:"partitions,omitempty"`  // columns by directories name=value
	Where      []string      `json:"where,omitempty"`       // which partitions
	Lacking    []FileColumns `json:"lacking,omitempty"`     // files without columns of the job, which are NULL there
	PassedOver []FileColumns `json:"passed_over,omitempty"` // files with columns that were not asked for
}

// Way is the format and compression in which some of the files are read.
type Way struct {
	Files    int    `json:"files"`
	Format   string `json:"format"`             // with its compression, as text.gz
	Detected bool   `json:"detected,omitempty"` // by name or content; else it was given
	Dialect  string `json:"dialect,omitempty"`  // of text
	Settings string `json:"settings,omitempty"` // all that decides on what comes out of the text
}

// FileColumns are files that have the same columns missing or passed over.
type FileColumns struct {
	Columns []string `json:"columns"`
	Files   []string `json:"files"` // their paths
}

// CountFiles returns how many files a list has.
func CountFiles(list []FileColumns) (n int) {
	for _, l := range list {
		n += len(l.Files)
	}
	return n
}

// String returns how the files are read, in one line.
func (w Way) String() string {
	text := w.Format
	if w.Detected {
		text += " (detected)"
	}
	if w.Dialect != "" {
		text += ", dialect " + w.Dialect
	}
	if w.Settings != "" {
		text += ": " + w.Settings
	}
	return text
}

// ByPath returns the columns that paths give, and what chose among them.
func (r *Reading) ByPath() string {
	text := strings.Join(r.Partitions, ", ")
	if len(r.Where) > 0 {
		text += " where " + strings.Join(r.Where, ", ")
	}
	return text
}

// Text returns the first of the columns and of the files, as text.
func (f FileColumns) Text() (columns, files string) {
	const mostColumns, mostFiles = 20, 3
	return firstOf(f.Columns, mostColumns), firstOf(f.Files, mostFiles)
}

// firstOf joins the first of a list, and says how many there are beyond.
func firstOf(list []string, most int) string {
	text := strings.Join(list[:min(len(list), most)], ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
