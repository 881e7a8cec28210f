package hdfsio

// Rest gives back what is not in use: idle NameNode connections,
// and the DataNode streams of open files between two calls of ReadAt. All of
// it is connected again when it is needed, so a reader that is held up for
// hours holds nothing of the cluster meanwhile. Streams of Read, and files
// that are being written, stay as they are.
func (h *HDFS) Rest() {
	h.mu.Lock()
	open := make([]*hdfsFile, 0, len(h.open))
	for f := range h.open {
		open = append(open, f)
	}
	h.mu.Unlock()
	for _, f := range open {
		if f.mu.TryLock() {
			f.at.drop(true)
			f.mu.Unlock()
		}
	}
	h.mu.Lock()
	free := h.free
	h.free = nil
	h.mu.Unlock()
	for _, s := range free {
		s.close()
	}
}

// forget is for a file that is closed.
func (h *HDFS) forget(f *hdfsFile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, f)
}
