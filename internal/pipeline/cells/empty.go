package cells

// kept determines which empty values of a slot become an empty cell.
type kept struct{ empty, null bool }

// has reports whether an empty value becomes a cell. null means that the value is NULL.
func (k kept) has(null bool) bool {
	if null {
		return k.null
	}
	return k.empty
}

// kept appends, by slot, which empty values become cells in a file. nulls reports whether the file distinguishes NULL from
// empty text. An empty text can be a cell; an empty number cannot.
func (p *Plan) kept(dst []kept, nulls bool) []kept {
	for i := range p.Slots {
		s := &p.Slots[i]
		dst = append(dst, kept{empty: s.convert == nil && storesEmpty(s.empty, nulls), null: s.convert == nil && s.nulls})
	}
	return dst
}

// StoresEmpty reports whether empty text becomes a cell, except in columns with a setting of their own. nulls reports whether the file has NULL.
func (p *Plan) StoresEmpty(nulls bool) bool { return storesEmpty(p.Empty, nulls) }

func storesEmpty(empty string, nulls bool) bool { return empty == "store" || empty == "" && nulls }
