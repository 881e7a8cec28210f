package progress

import "time"

// marks records a few moments of a phase, with the work that was done by then.
type marks struct {
	all   []mark
	every time.Duration // minimum interval
}

type mark struct {
	at   time.Time
	done Amount
}

const (
	maxMarks   = 64
	firstMarks = 100 * time.Millisecond
	minSpan    = time.Second
)

// add records a moment, if the last one is long enough ago. When there are too many, every second one is dropped.
func (m *marks) add(now time.Time, done Amount) {
	if n := len(m.all); n > 0 && now.Sub(m.all[n-1].at) < max(m.every, firstMarks) {
		return
	}
	if len(m.all) == maxMarks {
		for i := range maxMarks / 2 {
			m.all[i] = m.all[2*i]
		}
		m.all = m.all[:maxMarks/2]
		m.every = 2 * max(m.every, firstMarks)
	}
	m.all = append(m.all, mark{now, done})
}

// recent returns the work done in about the last third of a phase. It is zero in the phase's first second.
func (m *marks) recent(p PhaseProgress, now time.Time) Span {
	since := now.Add(-max(minSpan, now.Sub(p.Began)/3))
	for i := len(m.all) - 1; i >= 0; i-- {
		if k := m.all[i]; !k.at.After(since) {
			return Span{now.Sub(k.at), Amount{p.Done.Rows - k.done.Rows, p.Done.Bytes - k.done.Bytes, p.Done.Files - k.done.Files}}
		}
	}
	return Span{}
}
