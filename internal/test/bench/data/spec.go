package data

import (
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

// layout is what the generator has to know of a table.
type layout struct {
	columns []string
	query   []int // columns of the query key
	key     string
}

var layouts = map[Table]layout{
	Check: {
		columns: []string{"id", "check_id", "rule_no", "index_value", "rule_type", "hit_condition", "rule_desc", "hit_ind",
			"artificial_ver_result", "cause_code", "opinin", "create_by", "create_date", "update_by", "update_date", "remarks",
			"del_flag", "trunc_no"},
		query: []int{1},
		key:   "salt(check_id) + md5hex(check_id) + id",
	},
	Opinion: {
		columns: []string{"id", "buss_no", "current_queue", "target_queue", "submit_user", "submit_time", "submit_opinion",
			"submit_apply_summary", "business_type", "approval_opinion", "appr_result", "reason", "create_by", "create_date",
			"update_by", "update_date", "remarks", "del_flag", "trunc_no"},
		query: []int{1, 8},
		key:   "salt(buss_no, business_type) + md5hex(buss_no, business_type) + id",
	},
}

// Columns returns the table's columns in the order of the dump, nil for an unknown table.
func (t Table) Columns() []string { return slices.Clone(layouts[t].columns) }

// Key returns the recipe of the table's row key in the language of package keygen.
func (t Table) Key() string { return layouts[t].key }

// Spec says which rows to make.
type Spec struct {
	Table Table  // default Check
	Rows  int64  // default 0: none
	Seed  uint64 // default 0, a seed like others

	// Regions is the modulus of the salt: of the region that RegionShare means, and of the keys of the form TSV. Default 10.
	Regions int

	// RegionShare is the share of rows, 0..1, whose key falls in region 0 of Regions; the others fall evenly in the rest.
	// Default 0: evenly in all.
	RegionShare float64

	// KeyShare is the share of rows, 0..1, that have one and the same query key. Default 0.
	KeyShare float64

	// Flat makes spaces of tabs and newlines in values, which a TSV file cannot hold: for forms that are to be compared
	// with it. The form TSV is always flat.
	Flat bool
}

func (s Spec) withDefaults() Spec {
	if s.Table == "" {
		s.Table = Check
	}
	if s.Regions == 0 {
		s.Regions = 10
	}
	return s
}

// Validate reports the first field that has no meaning.
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

// version is part of the names of files: it changes with the rows that a Spec gives.
const version = 1

// FileName returns the name of the spec's file in a form: all that decides its bytes is in it.
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
