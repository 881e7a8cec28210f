package chunk

import (
	"io"
	"slices"
)

// Joined is a source of the chunks of several sources, by region and first key. It holds only the keys of their next chunks.
type Joined struct {
	heads []joinedHead // a heap by key
	began bool
}

type joinedHead struct {
	source *FrameReader
	key    []byte
}

// Join returns a source that joins sources.
func Join(sources ...*FrameReader) *Joined {
	j := &Joined{}
	for _, s := range sources {
		j.heads = append(j.heads, joinedHead{source: s})
	}
	return j
}

// Next implements [Source].
func (j *Joined) Next(key, value []byte) ([]byte, []byte, error) {
	if !j.began {
		if err := j.begin(); err != nil {
			return key, value, err
		}
	}
	if len(j.heads) == 0 {
		return key, value, io.EOF
	}
	h := &j.heads[0]
	value, err := h.source.nextValue(value)
	if err != nil {
		return key, value, err
	}
	found := h.key
	if err := h.next(key); err != nil {
		return found, value, err
	}
	if h.source == nil {
		last := len(j.heads) - 1
		j.heads[0] = j.heads[last]
		j.heads = j.heads[:last]
	}
	j.sink(0)
	return found, value, nil
}

// begin reads the first key of each source.
func (j *Joined) begin() error {
	j.began = true
	for i := range j.heads {
		if err := j.heads[i].next(nil); err != nil {
			return err
		}
	}
	j.heads = slices.DeleteFunc(j.heads, func(h joinedHead) bool { return h.source == nil })
	for i := len(j.heads)/2 - 1; i >= 0; i-- {
		j.sink(i)
	}
	return nil
}

// next reads the next key into the given buffer; at the end, it sets the source to nil.
func (h *joinedHead) next(key []byte) error {
	var err error
	if h.key, err = h.source.nextKey(key); err == io.EOF {
		h.source = nil
		return nil
	}
	return err
}

// sink restores the heap order below i.
func (j *Joined) sink(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(j.heads); c++ {
			if string(j.heads[c].key) < string(j.heads[least].key) {
				least = c
			}
		}
		if least == i {
			return
		}
		j.heads[i], j.heads[least] = j.heads[least], j.heads[i]
		i = least
	}
}
