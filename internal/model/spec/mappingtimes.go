package spec

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/pkg/keygen"
)

// TimeColumn is a column of times.
type TimeColumn struct {
	Column string `yaml:"column" json:"column"`
	Layout string `yaml:"layout" json:"layout,omitempty"` // default yyyy-MM-dd HH:mm:ss[.SSS]
	Zone   string `yaml:"zone" json:"zone,omitempty"`     // default UTC
}

// TTLColumn is a column with the TTL of a record's cells.
type TTLColumn struct {
	Column string `yaml:"column" json:"column"`
	Unit   string `yaml:"unit" json:"unit,omitempty"` // s (default) or ms
}

func (c *TimeColumn) Dates() (*keygen.Dates, error) {
	return keygen.NewTimestamps(c.Layout, c.Zone)
}

func (m Mapping) validateTimes() []error {
	var errs []error
	bad := func(field string, err error) {
		if err != nil {
			errs = append(errs, &FieldError{field, err})
		}
	}
	errNoColumn := errors.New("it needs a column")
	if c := m.CellTimestamp; c != nil {
		_, err := c.Dates()
		bad("cell_timestamp", err)
		if c.Column == "" {
			bad("cell_timestamp", errNoColumn)
		}
	}
	if c := m.CellTTL; c != nil {
		if c.Column == "" {
			bad("cell_ttl", errNoColumn)
		}
		if !slices.Contains([]string{"", "s", "ms"}, c.Unit) {
			bad("cell_ttl", fmt.Errorf("unit %q is invalid: want s or ms", c.Unit))
		}
	}
	return errs
}
