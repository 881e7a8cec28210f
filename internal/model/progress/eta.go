package progress

import (
	"math"
	"slices"
	"time"
)

// Left is the remaining time of a job, as far as it can be estimated.
type Left struct {
	Phase      time.Duration `json:"phase_ns"` // of the current phase
	Job        time.Duration `json:"job_ns"`   // of the whole job: the current phase, later phases and later parts
	PhaseKnown bool          `json:"phase_known"`
	JobKnown   bool          `json:"job_known"`
}

// Estimates for phases that have not begun. Those named Share are multiples of the time that reading the input takes; the others are in seconds or rates.
// They were measured with all daemons on the same cores as the job. Once a phase runs, its own speed is a better estimate.
const (
	sortShare   = 0.2
	writeShare  = 1.9
	verifyShare = 5.5 // full verification: a scan of the table

	scanCell = 0.5e-6 // seconds for each column of a row, with the usual number of concurrent scans

	loadSeconds     = 0.1
	loadRegion      = 0.012
	sampleSeconds   = 0.05
	sampleRegion    = 0.006
	snapshotSeconds = 1.0
	uploadRate      = 100 << 20 // bytes a second
	checkRate       = 400 << 20 // bytes a second
)

const (
	predictedWeight = 0.2  // weight of the prediction at the beginning of a phase, in addition to the measured speed
	predictedUntil  = 0.4  // fraction of the phase after which the prediction has no weight
	minSeen         = 0.02 // fraction of a phase that must be done before its speed is used
	recentWeight    = 0.5  // weight of the speed in the last third of a phase, in addition to the speed of all of it
	recentFrom      = 0.1  // fraction of a phase at which recentWeight counts by half
	maxChange       = 4.0  // maximum factor between these two speeds: if there is no progress at all, that may be a pause
)

// Now returns the phases of the running job. These are all phases, unless the command runs several jobs one after the other.
func (p Progress) Now() []PhaseProgress {
	i := slices.IndexFunc(p.Phases, func(q PhaseProgress) bool { return !q.Began.Before(p.Began) })
	if i < 0 {
		return nil
	}
	return p.Phases[i:]
}

// Ahead returns the phases that the job has yet to begin, in order. A phase may occur twice: the files of an earlier attempt are checked before the
// build, and all of them before the load.
func (p Progress) Ahead() []string {
	begun, at := p.Now(), 0
	for _, phase := range begun {
		if phase.Name != begun[len(begun)-1].Name {
			continue
		}
		if i := slices.Index(p.Start.Phases[at:], phase.Name); i >= 0 {
			at += i + 1
		}
	}
	return p.Start.Phases[at:]
}

// left estimates the remaining time of the job from the progress of the current phase and from the times of the phases before it.
func (p Progress) left() (l Left) {
	p.Phases = p.Now()
	if len(p.Phases) == 0 {
		return l
	}
	current := &p.Phases[len(p.Phases)-1]
	if !current.Ended.IsZero() {
		return l
	}
	unit := p.readUnit()
	l.Phase, l.PhaseKnown = p.phaseLeft(current, unit)
	l.Job, l.JobKnown = l.Phase, l.PhaseKnown
	for _, name := range p.Ahead() {
		more, known := p.predicted(name, unit)
		l.Job += Seconds(more)
		l.JobKnown = l.JobKnown && known
	}
	return p.partsLeft(l)
}

// phaseLeft estimates the remaining time of the current phase. The speed of its last third counts in addition to the speed of all of it, so that a
// change shows soon and a short interruption shows little.
func (p Progress) phaseLeft(current *PhaseProgress, unit float64) (time.Duration, bool) {
	took := p.At.Sub(current.Began).Seconds()
	expected, known := p.predicted(current.Name, unit)
	done, ok := p.fraction(current, current.Done)
	if !ok {
		return Seconds(max(expected-took, 0)), known
	}
	known = known && expected > 0
	if done < minSeen {
		return Seconds(max(expected-took, expected/2)), known
	}
	whole := took / done
	if known {
		weight := predictedWeight * max(0, 1-done/predictedUntil)
		whole *= math.Pow(expected/whole, weight/(done+weight))
	}
	if r := current.Recent; r.Took > 0 {
		before, _ := p.fraction(current, Amount{current.Done.Rows - r.Done.Rows, current.Done.Bytes - r.Done.Bytes, current.Done.Files - r.Done.Files})
		slower := min(max(r.Took.Seconds()/whole/max(done-before, 1e-9), 1.0/maxChange), maxChange)
		whole *= math.Pow(slower, recentWeight*done/(done+recentFrom))
	}
	return Seconds(whole * (1 - done)), true
}

// fraction returns the completed part of a phase. For writing it is the lower of two: the rows that were encoded, and the bytes that the file system
// accepted, whose total is estimated from complete files.
func (p Progress) fraction(phase *PhaseProgress, done Amount) (float64, bool) {
	q := *phase
	q.Done = done
	f, ok := q.Fraction()
	if phase.Name == "write" && ok && p.HFiles.Rows > 0 && p.HFiles.Bytes > 0 {
		f = min(f, float64(done.Bytes)/float64(p.HFiles.Bytes)*float64(p.HFiles.Rows)/float64(phase.Total.Rows))
	}
	return f, ok
}

// readUnit returns the time, measured or estimated, that reading all of the input takes; 0 if unknown. The speed of writing corrects it within
// bounds, because reading may have waited for a slow link.
func (p Progress) readUnit() (unit float64) {
	whole := func(phase *PhaseProgress) float64 {
		if !phase.Ended.IsZero() {
			return phase.Ended.Sub(phase.Began).Seconds()
		}
		if done, ok := p.fraction(phase, phase.Done); ok && done > minSeen {
			return p.At.Sub(phase.Began).Seconds() / done
		}
		return 0
	}
	for i := range p.Phases {
		switch phase := &p.Phases[i]; phase.Name {
		case "read":
			unit = whole(phase)
		case "write":
			if w := whole(phase); unit > 0 && w > 0 && p.Start.Earlier == nil {
				unit = min(max((unit+w)/(1+writeShare), unit/2), 1.5*unit)
			}
		}
	}
	return unit
}

// predicted estimates the duration of a phase that has not begun, in seconds; unit is the duration of reading.
func (p Progress) predicted(name string, unit float64) (float64, bool) {
	if s, ok := p.asEarlier(name, unit); ok {
		return s, true
	}
	regions := float64(max(p.Start.Regions, 1))
	switch name {
	case "read":
		return unit, unit > 0
	case "sort":
		return sortShare * unit, unit > 0
	case "write":
		return writeShare * unit, unit > 0
	case "load":
		return loadSeconds + loadRegion*regions, true
	case "snapshot":
		return snapshotSeconds, true
	case "check":
		return p.toCheck() / checkRate, true
	case "upload":
		return float64(p.Start.Bytes) / uploadRate, p.Start.Bytes > 0
	case "verify":
		if p.Start.Verify == "sample" || p.Start.Verify == "files" {
			return sampleSeconds + sampleRegion*regions, true
		}
		// The time of a scan depends more on the servers than on this machine, so the estimate is the mean of a guess for each.
		scan := scanCell * float64(p.rows()) * float64(p.Start.Columns)
		return math.Sqrt(verifyShare * unit * scan), unit > 0 && scan > 0
	}
	return 0, false
}

// toCheck estimates the bytes of the job's HFiles from the bytes per row of those written so far, including earlier parts. Before any is written it
// returns the size of the input.
func (p Progress) toCheck() float64 {
	if p.HFiles.Rows == 0 {
		return float64(p.Start.Bytes)
	}
	return float64(p.HFiles.Bytes) / float64(p.HFiles.Rows) * float64(p.rows())
}

// Pace holds the durations of an earlier job of the same table. The remaining time of a running job is estimated from them.
type Pace struct {
	Records int64         `json:"records"`
	Regions int           `json:"regions"` // regions that received files
	Read    time.Duration `json:"read_ns"` // of reading and sorting
	Write   time.Duration `json:"write_ns"`
	Load    time.Duration `json:"load_ns"`
	Verify  time.Duration `json:"verify_ns"`
	Mode    string        `json:"verify"` // mode of verification
}

// asEarlier estimates a phase from an earlier job of the table; false if that is not possible. It scales by the square root of the ratio of the two jobs'
// read times, because that ratio reflects the speed of the machine but not of HDFS and HBase.
func (p Progress) asEarlier(name string, unit float64) (float64, bool) {
	e, rows := p.Start.Earlier, float64(p.rows())
	if e == nil || e.Records <= 0 || rows <= 0 {
		return 0, false
	}
	scale := rows / float64(e.Records)
	read := e.Read.Seconds() * scale / (1 + sortShare)
	slower := 1.0
	if unit > 0 && read > 0 {
		slower = math.Sqrt(unit / read)
	}
	regions := float64(max(p.Start.Regions, 1)) / float64(max(e.Regions, 1))
	switch {
	case name == "read" && read > 0:
		return read, true
	case name == "write" && e.Write > 0:
		return e.Write.Seconds() * scale * slower, true
	case name == "load" && e.Load > 0:
		return e.Load.Seconds() * regions, true
	case name == "verify" && e.Verify > 0 && e.Mode == p.Start.Verify && e.Mode == "full":
		return e.Verify.Seconds() * scale * slower, true
	case name == "verify" && e.Verify > 0 && e.Mode == p.Start.Verify:
		return e.Verify.Seconds() * regions, true
	}
	return 0, false
}

// rows returns the number of rows of the job, as far as it is known or can be estimated.
func (p Progress) rows() int64 {
	for i := range p.Phases {
		phase := &p.Phases[i]
		if phase.Total.Rows > 0 {
			return phase.Total.Rows
		}
		if done, ok := phase.Fraction(); ok && done > minSeen {
			return int64(float64(phase.Done.Rows) / done)
		}
	}
	return 0
}

// Seconds returns a number of seconds as a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
