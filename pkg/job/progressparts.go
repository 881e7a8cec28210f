package job

import "slices"

// foldParts makes one phase of all phases of a name, when the next part of a
// run of several begins: a run of thousands of parts stays a few lines. Such
// a phase has the time that its phases took together, from when the first began.
func (p *Progress) foldParts() { p.Phases = fold(p.Phases) }

// Sums are the phases of all parts, one for each name, with the time that they
// took together. They are in the order in which they were begun last.
func (p Progress) Sums() []PhaseProgress {
	sums := fold(p.Phases)
	last := func(f PhaseProgress) int {
		for i, phase := range slices.Backward(p.Phases) {
			if phase.Name == f.Name {
				return i
			}
		}
		return -1
	}
	slices.SortStableFunc(sums, func(a, b PhaseProgress) int { return last(a) - last(b) })
	return sums
}

func fold(phases []PhaseProgress) (folded []PhaseProgress) {
	for _, phase := range phases {
		phase.Recent = Span{}
		i := slices.IndexFunc(folded, func(f PhaseProgress) bool { return f.Name == phase.Name })
		if i < 0 {
			folded = append(folded, phase)
			continue
		}
		f := &folded[i]
		f.Ended = f.Ended.Add(phase.Ended.Sub(phase.Began))
		f.Done, f.Total = f.Done.plus(phase.Done), f.Total.plus(phase.Total)
	}
	return folded
}

func (a Amount) plus(b Amount) Amount {
	return Amount{a.Rows + b.Rows, a.Bytes + b.Bytes, a.Files + b.Files}
}
