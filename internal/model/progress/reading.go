package progress

import (
	"fmt"
	"strings"
)

// Reading describes how the inputs of a job are read. It is determined when the inputs
// are opened.
type Reading struct {
	Ways       []Way         `json:"ways"`                  // in the order of the first file of each
	Partitions []string      `json:"partitions,omitempty"`  // columns from directories name=value
	Where      []string      `json:"where,omitempty"`       // conditions on partitions
	Lacking    []FileColumns `json:"lacking,omitempty"`     // files that lack columns of the job, whose values are NULL
	PassedOver []FileColumns `json:"passed_over,omitempty"` // files with columns that the job does not read
}

// Way is a format with settings in which files are read.
type Way struct {
	Files    int    `json:"files"`
	Format   string `json:"format"`             // with its compression, such as text.gz
	Detected bool   `json:"detected,omitempty"` // the format was detected by name or content; otherwise it was given
	Dialect  string `json:"dialect,omitempty"`  // of text
	Settings string `json:"settings,omitempty"` // all settings that affect how the text is parsed
}

// Rejects reports whether the files are reject files.
func (w Way) Rejects() bool { return strings.HasSuffix(w.Format, ".rejects") }

// FileColumns lists files that have the same columns missing or ignored.
type FileColumns struct {
	Columns []string `json:"columns"`
	Files   []string `json:"files"` // paths
}

// CountFiles returns the number of files in a list.
func CountFiles(list []FileColumns) (n int) {
	for _, l := range list {
		n += len(l.Files)
	}
	return n
}

// String describes how the files are read, in one line.
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

// ByPath returns the columns that paths give, and the conditions that select
// partitions.
func (r *Reading) ByPath() string {
	text := strings.Join(r.Partitions, ", ")
	if len(r.Where) > 0 {
		text += " where " + strings.Join(r.Where, ", ")
	}
	return text
}

// Text returns the first columns and the first files in readable form.
func (f FileColumns) Text() (columns, files string) {
	const maxColumns, maxFiles = 20, 3
	return firstOf(f.Columns, maxColumns), firstOf(f.Files, maxFiles)
}

// firstOf joins the first elements of a list, and appends the number of the others.
func firstOf(list []string, most int) string {
	text := strings.Join(list[:min(len(list), most)], ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
