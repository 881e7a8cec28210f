package spec

import (
	"cmp"

	"bulkload/internal/model/fail"

	"github.com/goccy/go-yaml"
)

// ParseSpec parses a job file strictly: an unknown field is an error that names its
// line. name is used in messages.
func ParseSpec(name string, data []byte) (*Spec, error) {
	var s struct {
		Spec    `yaml:",inline"`
		Regions *int `yaml:"regions"` // old name of salt_buckets, accepted for one more release
	}
	data = WithoutMark(data)
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return nil, fail.Errorf(fail.Config, "job file %s", yamlText(name, err))
	}
	if err := OneDocument(data); err != nil {
		return nil, fail.Errorf(fail.Config, "job file %s: %w", name, err)
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

// defaultFamily is the default family of a job.
const defaultFamily = "f"

// FamilyName returns the spec's family or its default.
func (s Spec) FamilyName() string { return cmp.Or(s.Family, defaultFamily) }
