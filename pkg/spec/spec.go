package spec

import (
	"cmp"

	"bulkload/pkg/fail"

	"github.com/goccy/go-yaml"
)

// Spec is a job file: what to load, and how. Every field can be overridden
// by a flag of the same meaning. A field that a job file does not have keeps
// its zero value, which means the default.
type Spec struct {
	Table  string `yaml:"table"`  // namespace:name, or name in the default namespace
	Family string `yaml:"family"` // default f

	Inputs     []string `yaml:"inputs"`      // files, directories, globs; local or hdfs://
	InputsFrom string   `yaml:"inputs_from"` // a list of inputs, instead of them
	Format     string   `yaml:"format"`      // csv, dump, parquet, json, avro, rejects; default: by extension and content
	Columns    []string `yaml:"columns"`     // names in the records' order; a CSV header and Parquet bring their own
	Header     string   `yaml:"header"`      // of text: yes, no, first or match
	FieldSep   string   `yaml:"field_sep"`   // of text: between columns
	RecordSep  string   `yaml:"record_sep"`  // of text: after a record
	Reading    `yaml:",inline"`

	ReadBy  string   `yaml:"read_by"`      // how an input table is read: files (default), scan or auto
	Parse   string   `yaml:"parse"`        // key spec of an input table
	Key     string   `yaml:"key"`          // key spec, see package keygen
	Query   []string `yaml:"query"`        // columns that a reader gives to get rows, default: the first column of the key
	Regions int      `yaml:"salt_buckets"` // modulus of a salt; default: the number of salts that the table was split for

	Empty      string `yaml:"empty"`          // what an empty text becomes: skip (no cell) or store (an empty one); default: store where the files have NULL as well
	Duplicates string `yaml:"duplicates"`     // rows of one key: fail (default), first or last
	BadRecords string `yaml:"bad_records"`    // how many bad records are set aside: N or P%, default 0
	AllowEmpty bool   `yaml:"allow_empty"`    // an input without rows is no error
	Expect     *int64 `yaml:"expect_records"` // how many records the inputs have; nil: not known
	Verify     string `yaml:"verify"`         // after the load: full, sample (default) or off
	Timestamp  int64  `yaml:"timestamp"`      // of every cell, milliseconds; default: when the job was planned

	PhoenixIndexes string `yaml:"phoenix_indexes"` // of the table: refuse (default) a table with some, or ignore them
	Replicate      string `yaml:"replicate"`       // whether peers get the load: yes (default) or no

	Replace         bool   `yaml:"replace"`          // the table has the rows of this job alone afterwards; default: other rows stay
	MaxDeletes      string `yaml:"max_deletes"`      // of the table's rows that a replacing job may delete: N or P%, default 5%
	ReplaceRejected bool   `yaml:"replace_rejected"` // a replacing job may set records aside, whose rows the table loses

	Mapping `yaml:",inline"` // which cells a record becomes; default: a text cell of each column

	// What the table says if these are not given.
	Compression      string `yaml:"compression"`
	CompressionLevel string `yaml:"compression_level"` // default or better; no table says it
	Encoding         string `yaml:"encoding"`
	Bloom            string `yaml:"bloom"`
	BlockSize        Size   `yaml:"block_size"`

	Tables []TableSpec `yaml:"tables" json:",omitempty"` // further tables of the same records

	Options Options `yaml:"options"` // of the program that runs the job; nothing here reads them
}

// ParseSpec reads a job file strictly: a field that is not known is an error
// that names its line. The name is for messages.
func ParseSpec(name string, data []byte) (*Spec, error) {
	var s struct {
		Spec    `yaml:",inline"`
		Regions *int `yaml:"regions"` // old name of salt_buckets, for one more release
	}
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return nil, fail.Errorf(fail.Config, "job file %s", yamlText(name, err))
	}
	if err := refuseNull(name, data); err != nil {
		return nil, err
	}
	if s.Regions != nil {
		lines := FieldLines(data)
		if now, both := lines["salt_buckets"]; both {
			return nil, fail.Errorf(fail.Config, "job file %s: line %d: regions is the old name of salt_buckets, which line %d gives: give salt_buckets only", name, lines["regions"], now)
		}
		s.Spec.Regions = *s.Regions
	}
	return &s.Spec, nil
}

// defaultFamily is the family of a job that names none.
const defaultFamily = "f"

// FamilyName is the spec's family or its default.
func (s Spec) FamilyName() string { return cmp.Or(s.Family, defaultFamily) }
