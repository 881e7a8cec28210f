package manifest

// ExportedFile is one file of an export.
type ExportedFile struct {
	Name   string `json:"name"`
	Region string `json:"region"` // encoded region name in the snapshot; empty without a snapshot
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the whole file
}

// ExportedRegion is the output of an export for one region.
type ExportedRegion struct {
	File     *ExportedFile `json:"file,omitempty"`           // nil: no rows
	NoCells  int64         `json:"no_cells,omitempty"`       // rows left out because they have no cell in any of the columns
	LeftOver int64         `json:"cells_left_out,omitempty"` // cells left out because they are in none of the columns
}
