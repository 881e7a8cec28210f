package extsort

// Forecast holds the resources that a sort would use.
type Forecast struct {
	Spills bool
	Runs   int64 // including runs from merges
	// Written is the number of bytes of rows written to disk, before compression.
	// It exceeds the size of the rows if runs must be merged into longer ones.
	Written int64
	// Most is the maximum of these bytes on disk at a time.
	Most   int64
	Memory int64 // bytes of arenas in use
}

// Forecast estimates the resources for a number of rows and bytes that are
// spread evenly over the workers. Bytes are counted as in [Sorter.Size].
func (o Options) Forecast(rows, bytes int64) Forecast {
	o = o.withDefaults()
	o.Memory -= o.lostMemory()
	return o.forecast(rows, bytes)
}

// forecast is Forecast without defaults, where Memory no longer includes the share for lost records.
func (o Options) forecast(rows, bytes int64) Forecast {
	workers := int64(o.Workers)
	share := max(o.Memory/workers, 1) // New refuses so little
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

// Forecast is [Options.Forecast] for the sort's options.
func (s *Sorter) Forecast(rows, bytes int64) Forecast { return s.options.forecast(rows, bytes) }
