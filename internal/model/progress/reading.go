package progress

// Reading is how the inputs of a job are read, as it was found when they were opened.
type Reading struct {
	Ways       []Way         `json:"ways"`                  // in the order of the first file of each
	Partitions []string      `json:"partitions,omitempty"`  // columns by directories name=value
	Where      []string      `json:"where,omitempty"`       // which partitions
	Lacking    []FileColumns `json:"lacking,omitempty"`     // files without columns of the job, which are NULL there
	PassedOver []FileColumns `json:"passed_over,omitempty"` // files with columns that were not asked for
}

// Way is one way in which files are read.
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

// CountFiles is how many files a list has.
func CountFiles(list []FileColumns) (n int) {
	for _, l := range list {
		n += len(l.Files)
	}
	return n
}
