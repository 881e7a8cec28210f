package checkpoint

// QuietRecord is a table whose regions are not split, merged or normalized while the job runs.
type QuietRecord struct {
	Table string            `json:"table"`
	Was   map[string]string `json:"was,omitempty"` // previous values of the attributes that the job sets to false; empty: not set
	Over  bool              `json:"over,omitempty"`
}

// QuietAttributes returns the attributes of a table that let HBase change its regions (TableDescriptorBuilder, HBase 2.4).
func QuietAttributes() []string {
	return []string{"SPLIT_ENABLED", "MERGE_ENABLED", "NORMALIZATION_ENABLED"}
}

// Wake gives the attributes of a table that is created like another the other's present values where a job may have switched them off for the time of
// a snapshot. It returns those that stay off, since they are off now, too: by intention, or by a job that keeps the table quiet.
func Wake(attributes, now map[string]string) (off []string) {
	for _, key := range QuietAttributes() {
		switch {
		case attributes[key] != "false":
		case now[key] == "false":
			off = append(off, key)
		case now[key] == "":
			delete(attributes, key)
		default:
			attributes[key] = now[key]
		}
	}
	return off
}

func (h *History) quiet(r QuietRecord) {
	if r.Over {
		delete(h.Quiet, r.Table)
		return
	}
	h.Quiet[r.Table] = r
}

// restore returns the attributes to set, from the present ones. It includes those that have their previous values: a change by an attempt that was
// killed may still wait in the master, which makes this change after it.
func (r QuietRecord) restore(now map[string]string) map[string]string {
	set := map[string]string{}
	for key, was := range r.Was {
		if now[key] == "false" || now[key] == was {
			set[key] = was
		}
	}
	return set
}
