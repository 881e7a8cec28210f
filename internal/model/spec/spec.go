package spec

import (
	"cmp"

	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/model/fail"
)

// ParseSpec parses a job file strictly: an unknown field is an error that names its line. Texts and numbers are those of the flags, as they are written.
// name is used in messages.
func ParseSpec(name string, data []byte) (*Spec, error) {
	var s struct {
		Spec    `yaml:",inline"`
		Regions *int `yaml:"regions"` // old name of salt_buckets, accepted for one more release
	}
	if err := refuseNull(name, data); err != nil {
		return nil, err
	}
	if err := yamlfile.Decode(data, &s); err != nil {
		return nil, fail.Errorf(fail.Config, "job file %s", yamlText(name, err))
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

// defaultFamily is the default family of a job.
const defaultFamily = "f"

// FamilyName returns the spec's family or its default.
func (s Spec) FamilyName() string { return cmp.Or(s.Family, defaultFamily) }
