package job

// Events tell of a job's progress. They are called synchronously, some by
// many goroutines at a time, and must not block; a nil one is not called.
type Events struct {
	OnPhase func(name string)              // read, sort, write, load, verify
	OnRows  func(rows, bytes int64)        // read and added to the sort
	OnSplit func()                         // read to its end
	OnSpill func(rows, bytes int64)        // bytes on disk
	OnHFile func(f File)                   // complete under its final name
	OnLoad  func(region string, files int) // taken by HBase; the region's encoded name
	OnNote  func(msg string, kv ...any)    // something that a person may want to know
	OnWarn  func(msg string, kv ...any)    // something that a person should look at
}

func (e Events) phase(name string) {
	if e.OnPhase != nil {
		e.OnPhase(name)
	}
}

func (e Events) rows(rows, bytes int64) {
	if e.OnRows != nil {
		e.OnRows(rows, bytes)
	}
}

func (e Events) split() {
	if e.OnSplit != nil {
		e.OnSplit()
	}
}

func (e Events) hfile(f File) {
	if e.OnHFile != nil {
		e.OnHFile(f)
	}
}

func (e Events) note(msg string, kv ...any) {
	if e.OnNote != nil {
		e.OnNote(msg, kv...)
	}
}

func (e Events) warn(msg string, kv ...any) {
	if e.OnWarn != nil {
		e.OnWarn(msg, kv...)
	}
}

func (e Events) load(region string, files int) {
	if e.OnLoad != nil {
		e.OnLoad(region, files)
	}
}
