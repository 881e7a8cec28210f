package newkeys

import (
	"maps"
	"slices"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// bare returns the columns that the spec names without a family.
func (k *keyColumns) bare() (columns []*keyColumn) {
	for _, c := range k.columns {
		if c.isCell() && c.family < 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

// keyFamilies returns the family of each bare column that a row has, nil if there are no bare columns.
func (k *keyColumns) keyFamilies() map[string]string {
	bare := k.bare()
	if len(bare) == 0 {
		return nil
	}
	families := map[string]string{}
	for _, c := range bare {
		if f := int(c.seen.Load()) - 1; f >= 0 {
			families[c.name] = k.families[f].Name
		}
	}
	return families
}

// OneFamily returns an error if parts of the rows have a column of the key in different families, as one process does that reads all rows, or
// if a part is of a version that did not record the family. old is the spec of the old keys or nil.
func OneFamily(key, old keygen.Expr, families []spec.Family, parts []*build.PartRead) error {
	var names []snapshot.Family
	for _, f := range families {
		names = append(names, snapshot.Family{Name: f.Name})
	}
	k, err := newKeyColumns(key, old, names)
	if err != nil {
		return err
	}
	bare := k.bare()
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *build.PartRead) bool { return p.Records == 0 })
	if len(bare) == 0 || len(parts) < 2 {
		return nil
	}
	for _, c := range bare {
		in := map[string]bool{}
		for _, p := range parts {
			if f, ok := p.KeyFamilies[c.name]; ok {
				in[f] = true
			}
		}
		if all := slices.Sorted(maps.Keys(in)); len(all) > 1 {
			return k.ambiguous(c.name, all[0], all[1])
		}
	}
	if slices.ContainsFunc(parts, func(p *build.PartRead) bool { return p.KeyFamilies == nil }) {
		return fail.With(fail.Check, setting.Errorf("an earlier version has read a part, and not recorded the family of column %s: build all shares again (on YARN: %s)", bare[0].name, setting.Restart))
	}
	return nil
}
