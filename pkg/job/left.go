package job

import "time"

// Left is how long a job is still going to take, as far as that can be told.
type Left struct {
	Phase, Job           time.Duration
	PhaseKnown, JobKnown bool
}

func (p Progress) Left() Left { return Left{} }
