package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// smallInfo describes a small file as its writer knows it. Its time is that of its making.
type smallInfo struct {
	name string
	size int64
	mode fs.FileMode
	id   uint64
	made time.Time
}

func (i smallInfo) Name() string           { return i.name }
func (i smallInfo) Size() int64            { return i.size }
func (i smallInfo) Mode() fs.FileMode      { return i.mode }
func (i smallInfo) ModTime() time.Time     { return i.made }
func (i smallInfo) IsDir() bool            { return false }
func (i smallInfo) Sys() any               { return nil }
func (i smallInfo) FileID() (uint64, bool) { return i.id, i.id != 0 }

// serverDefaults is of what getServerDefaults answers what a writer needs.
type serverDefaults struct {
	block, replication uint64
	encrypted          bool
}

// defaultsFor is how long the defaults of the server count.
const defaultsFor = time.Minute

func (h *HDFS) serverDefaults(ctx context.Context) (serverDefaults, error) {
	s := &h.small
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && time.Since(s.asked) < defaultsFor {
		return s.defaults, nil
	}
	answer, _, err := h.ask(ctx, "getServerDefaults", nil)
	if err != nil {
		return serverDefaults{}, err
	}
	m, ok := fieldBytes(answer, 1) // FsServerDefaultsProto
	d := serverDefaults{block: fieldNumber(m, 1), replication: fieldNumber(m, 4), encrypted: fieldNumber(m, 6) != 0}
	if !ok || d.block == 0 || d.replication == 0 {
		return d, errors.New("the namenode's answer to getServerDefaults is malformed")
	}
	s.defaults, s.asked = d, time.Now()
	return d, nil
}
