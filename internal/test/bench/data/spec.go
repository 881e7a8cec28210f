package data

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Table names a kind of rows.
type Table string

// The tables.
const (
	Check   Table = "check"   // 18 columns, about 220 bytes a row, read back by check_id
	Opinion Table = "opinion" // 19 columns, about 330 bytes a row, read back by buss_no and business_type
)

// layout is the generator's description of a table.
type layout struct {
	columns []string
	key     string
}

var layouts = map[Table]layout{
	Check: {
		columns: []string{"id", "check_id", "rule_no", "index_value", "rule_type", "hit_condition", "rule_desc", "hit_ind",
			"artificial_ver_result", "cause_code", "opinin", "create_by", "create_date", "update_by", "update_date", "remarks",
			"del_flag", "trunc_no"},
		key: "salt(check_id) + md5hex(check_id) + id",
	},
	Opinion: {
		columns: []string{"id", "buss_no", "current_queue", "target_queue", "submit_user", "submit_time", "submit_opinion",
			"submit_apply_summary", "business_type", "approval_opinion", "appr_result", "reason", "create_by", "create_date",
			"update_by", "update_date", "remarks", "del_flag", "trunc_no"},
		key: "salt(buss_no, business_type) + md5hex(buss_no, business_type) + id",
	},
}

// Columns returns the table's columns in the order of the dump, nil for an unknown table.
func (t Table) Columns() []string { return slices.Clone(layouts[t].columns) }

// Key returns the table's row key as an expression of package keygen.
func (t Table) Key() string { return layouts[t].key }

// Spec defines the rows to generate.
type Spec struct {
	Table Table  // default Check
	Rows  int64  // default 0: none
	Seed  uint64 // default 0, which is an ordinary seed

	// Regions is the modulus of the salt, for the region of RegionShare and for the keys of the form TSV. Default 10.
	Regions int

	// RegionShare is the share of rows, 0..1, whose key is in region 0 of Regions; the other rows are distributed evenly
	// over the other regions. Default 0: evenly over all.
	RegionShare float64

	// KeyShare is the share of rows, 0..1, that have the same query key. Default 0.
	KeyShare float64

	// Flat replaces tabs and newlines in values, which a TSV file cannot hold, by spaces. It is for forms that are
	// compared with TSV, which is always flat.
	Flat bool
}

func (s Spec) withDefaults() Spec {
	s.Table = cmp.Or(s.Table, Check)
	s.Regions = cmp.Or(s.Regions, 10)
	return s
}

// Validate returns an error for the first invalid field.
func (s Spec) Validate() error {
	s = s.withDefaults()
	if _, ok := layouts[s.Table]; !ok {
		return fmt.Errorf("table %q is neither %s nor %s", s.Table, Check, Opinion)
	}
	if s.Rows < 0 {
		return fmt.Errorf("%d rows: give 0 or more", s.Rows)
	}
	if s.Regions < 1 || s.Regions > 100_000 {
		return fmt.Errorf("%d regions are outside 1..100000", s.Regions)
	}
	if s.RegionShare > 0 && s.Regions == 1 {
		return fmt.Errorf("share %v of rows in one region needs at least 2 regions", s.RegionShare)
	}
	for name, share := range map[string]float64{"region": s.RegionShare, "key": s.KeyShare} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("share %v of rows in one %s is outside 0..1", share, name)
		}
	}
	return nil
}

// version is part of file names: it changes whenever the rows of a Spec change.
const version = 1

// FileName returns the name of the spec's file in a form. It contains everything that determines the file's bytes.
func (s Spec) FileName(f Form) string {
	s = s.withDefaults()
	var b strings.Builder
	fmt.Fprintf(&b, "%s-%d-seed%d-r%d", s.Table, s.Rows, s.Seed, s.Regions)
	if s.RegionShare > 0 {
		fmt.Fprintf(&b, "-region%g", s.RegionShare)
	}
	if s.KeyShare > 0 {
		fmt.Fprintf(&b, "-key%g", s.KeyShare)
	}
	if s.Flat {
		b.WriteString("-flat")
	}
	fmt.Fprintf(&b, "-v%d.%s", version, f)
	return b.String()
}
