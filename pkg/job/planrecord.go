package job

import (
	"encoding/json"
	"fmt"
	"slices"

	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// same says what has changed since the plan was made.
func (p planRecord) same(now planRecord) error {
	var input, other []string
	was := map[string]inputRecord{}
	for _, f := range p.Inputs {
		was[f.Input] = f
	}
	for _, f := range now.Inputs {
		old, ok := was[f.Input]
		delete(was, f.Input)
		switch {
		case !ok:
			input = append(input, fmt.Sprintf("%s is new", f.Input))
		case old.differs(f) != "":
			input = append(input, old.differs(f))
		}
	}
	for name := range was {
		input = append(input, name+" is gone")
	}
	slices.Sort(input)
	differs := func(what string, old, now any) {
		if fmt.Sprint(old) != fmt.Sprint(now) {
			other = append(other, fmt.Sprintf("%s was %v, it is %v", what, old, now))
		}
	}
	differs("the family", p.Family, now.Family)
	differs("the families", p.Families, now.Families)
	differs("the mapping", p.mappingText(), now.mappingText())
	differs("the list of columns", p.Columns, now.Columns)
	differs("empty", p.Empty, now.Empty)
	differs("duplicates", p.Duplicates, now.Duplicates)
	if now.Timestamp != 0 {
		differs("the timestamp", p.Timestamp, now.Timestamp)
	}
	if now.Modulus != 0 {
		differs("the modulus", p.Modulus, now.Modulus)
	}
	const hint = "--restart throws away what the job has done, --job-id makes another job of it"
	switch {
	case len(input) > 0:
		return failf(KindInput, "the input has changed since this job began: %s (%s)", few(input), hint)
	case len(other) > 0:
		return failf(KindCheck, "the job or its table has changed since this job began: %s (%s)", few(other), hint)
	}
	return nil
}

// few prints the first of a list.
func few(list []string) string {
	const most = 3
	text := ""
	for i, s := range list[:min(len(list), most)] {
		if i > 0 {
			text += "; "
		}
		text += s
	}
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// plan is the recorded plan again.
func (p planRecord) plan(family Family) (*Plan, error) {
	w := &Plan{Table: p.Table, Family: family, Columns: p.Columns, Timestamp: p.Timestamp, StoreEmpty: p.Empty == "store", Modulus: p.Modulus}
	w.Duplicates, _ = extsort.ParsePolicy(p.Duplicates)
	splits := make([][]byte, len(p.Splits))
	for i, k := range p.Splits {
		splits[i] = k
	}
	var err error
	if w.Ranges, err = partition.New(splits); err != nil {
		return nil, fail(KindConfig, err)
	}
	if w.Key, err = keygen.Parse(p.Key); err != nil {
		return nil, fail(KindConfig, err)
	}
	if p.Mapping != nil {
		w.Mapping = *p.Mapping
		return w, w.mapCells(w.Mapping, p.MapFamily, p.Families)
	}
	return w, w.mapCells(Mapping{}, family.Name, nil)
}

// mappingText tells one mapping from another.
func (p planRecord) mappingText() string {
	if p.Mapping == nil {
		return "that of all columns as text"
	}
	b, _ := json.Marshal(p.Mapping) // of strings and booleans: it cannot fail
	return string(b) + " with the family " + p.MapFamily
}
