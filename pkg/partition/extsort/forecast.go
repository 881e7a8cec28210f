package extsort

// Forecast predicts the memory, disk and merges that a sort needs.
type Forecast struct {
	Spills bool
	Runs   int64 // those that merging makes included
	// Written is how many bytes of rows go to disk, before they are packed:
	// more than there are if runs must be merged to longer ones.
	Written int64
	// Most is how many of those are on disk at a time.
	Most   int64
	Memory int64 // bytes of arenas that are touched
}

// Forecast predicts a sort of this many rows, if the rows come to
// the workers evenly. Bytes are as [Sorter.Size] counts them.
func (o Options) Forecast(rows, bytes int64) Forecast {
	o = o.withDefaults()
	o.Memory -= o.lostMemory()
	return o.forecast(rows, bytes)
}

// forecast is Forecast for the memory of the sort alone.
func (o Options) forecast(rows, bytes int64) Forecast {
	workers := int64(o.Workers)
	share := o.Memory / workers
	need := bytes + rows*entrySize
	if need <= share*workers {
		return Forecast{Memory: need}
	}
	f := Forecast{Spills: true, Written: bytes, Most: bytes, Memory: o.Memory}
	runs := workers * ((need + workers*share - 1) / (workers * share))
	f.Runs = runs
	size := bytes / runs
	for limit := int64(o.fanIn(runBlock)); runs > limit && limit >= 2; {
		n := max(2, min(limit*workers, runs-limit+1))
		runs -= n - 1
		f.Runs++
		f.Written += n * size
		f.Most = max(f.Most, bytes+n*size)
	}
	return f
}

// Forecast is [Options.Forecast] for the options of the sort.
func (s *Sorter) Forecast(rows, bytes int64) Forecast { return s.o.forecast(rows, bytes) }
