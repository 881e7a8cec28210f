package cells

// kept says which values of a slot become a cell that has no byte.
type kept struct{ empty, null bool }

// has reports whether a value without a byte is a cell. null says that it is NULL.
func (k kept) has(null bool) bool {
	if null {
		return k.null
	}
	return k.empty
}

// kept appends the handling of empty values, by slot, in a file. nulls reports whether that has NULL as well as an empty
// text. An empty text can be a cell; an empty number is none.
func (p *Plan) kept(dst []kept, nulls bool) []kept {
	for i := range p.Slots {
		s := &p.Slots[i]
		dst = append(dst, kept{empty: s.convert == nil && storesEmpty(s.empty, nulls), null: s.convert == nil && s.nulls})
	}
	return dst
}

// StoresEmpty reports whether an empty text is a cell, but for columns that say otherwise, in a file that has NULL or not.
func (p *Plan) StoresEmpty(nulls bool) bool { return storesEmpty(p.Empty, nulls) }

func storesEmpty(empty string, nulls bool) bool { return empty == "store" || empty == "" && nulls }
