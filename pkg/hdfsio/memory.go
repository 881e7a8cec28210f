package hdfsio

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is an in-memory file system, for tests, and for files that are only measured. As on HDFS, a file that is being written is visible with
// length 0.
type Memory struct {
	mu    sync.Mutex
	nodes map[string]*node
	next  uint64
}

var _ FS = (*Memory)(nil)

// NewMemory returns an empty file system with a root directory.
func NewMemory() *Memory {
	m := &Memory{nodes: map[string]*node{}}
	m.nodes["/"] = m.node(fs.ModeDir | 0o755)
	return m
}

type node struct {
	id    uint64
	mode  fs.FileMode
	data  []byte
	mtime time.Time
}

func (m *Memory) node(mode fs.FileMode) *node {
	m.next++
	return &node{id: m.next, mode: mode, mtime: time.Now()}
}

// Create implements [FS].
func (m *Memory) Create(ctx context.Context, name string, o CreateOptions) (Writer, error) {
	name, unlock, err := m.enter(ctx, "create", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := m.vacant("create", name); err != nil {
		return nil, err
	}
	n := m.node(o.withDefaults().Perm)
	m.nodes[name] = n
	return &memoryWriter{writing: writing{ctx: ctx, name: name}, memory: m, node: n}, nil
}

// Open implements [FS].
func (m *Memory) Open(ctx context.Context, name string) (fs.File, error) {
	name, n, unlock, err := m.existing(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return &memoryFile{ctx: ctx, name: name, info: n.info(name), r: bytes.NewReader(n.data)}, nil
}

// Stat implements [FS].
func (m *Memory) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	name, n, unlock, err := m.existing(ctx, "stat", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return n.info(name), nil
}

// ReadDir implements [FS].
func (m *Memory) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	name, n, unlock, err := m.existing(ctx, "readdir", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	var infos []fs.FileInfo
	for child, n := range m.nodes {
		if child != "/" && path.Dir(child) == name {
			infos = append(infos, n.info(child))
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// Rename implements [FS].
func (m *Memory) Rename(ctx context.Context, from, to string) error {
	from, err := cleanName("rename", from)
	if err != nil {
		return err
	}
	to, unlock, err := m.enter(ctx, "rename", to)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := m.find("rename", from)
	if err != nil {
		return err
	}
	if err := m.vacant("rename", to); err != nil {
		return err
	}
	if from == "/" || strings.HasPrefix(to, from+"/") {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrInvalid}
	}
	for child, c := range m.nodes {
		if rest, ok := strings.CutPrefix(child, from+"/"); ok {
			delete(m.nodes, child)
			m.nodes[to+"/"+rest] = c
		}
	}
	delete(m.nodes, from)
	m.nodes[to] = n
	return nil
}

// Remove implements [FS].
func (m *Memory) Remove(ctx context.Context, name string) error {
	name, _, unlock, err := m.existing(ctx, "remove", name)
	if err != nil {
		return err
	}
	defer unlock()
	if name == "/" {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	for child := range m.nodes {
		if path.Dir(child) == name {
			return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
		}
	}
	delete(m.nodes, name)
	return nil
}

// RemoveAll implements [FS].
func (m *Memory) RemoveAll(ctx context.Context, name string) error {
	name, unlock, err := m.enter(ctx, "remove", name)
	if err != nil {
		return err
	}
	defer unlock()
	if name == "/" {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	for child := range m.nodes {
		if child == name || strings.HasPrefix(child, name+"/") {
			delete(m.nodes, child)
		}
	}
	return nil
}

// MkdirAll implements [FS].
func (m *Memory) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	name, unlock, err := m.enter(ctx, "mkdir", name)
	if err != nil {
		return err
	}
	defer unlock()
	var missing []string
	for dir := name; ; dir = path.Dir(dir) {
		n := m.nodes[dir]
		if n == nil {
			missing = append(missing, dir)
			continue
		}
		if !n.mode.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		break
	}
	for _, dir := range missing {
		m.nodes[dir] = m.node(fs.ModeDir | perm.Perm())
	}
	return nil
}

// Mkdir implements [FS].
func (m *Memory) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	if _, err := m.Stat(ctx, path.Dir(name)); err != nil {
		return err
	}
	return m.MkdirAll(ctx, name, perm)
}

// Chmod implements [FS].
func (m *Memory) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	_, n, unlock, err := m.existing(ctx, "chmod", name)
	if err != nil {
		return err
	}
	defer unlock()
	n.mode = n.mode&fs.ModeDir | perm.Perm()
	return nil
}

// enter cleans the name and takes the lock.
func (m *Memory) enter(ctx context.Context, op, name string) (string, func(), error) {
	name, err := checkedName(ctx, op, name)
	if err != nil {
		return "", nil, err
	}
	m.mu.Lock()
	return name, m.mu.Unlock, nil
}

// existing is enter for a name that must exist.
func (m *Memory) existing(ctx context.Context, op, name string) (string, *node, func(), error) {
	name, unlock, err := m.enter(ctx, op, name)
	if err != nil {
		return "", nil, nil, err
	}
	n, err := m.find(op, name)
	if err != nil {
		unlock()
	}
	return name, n, unlock, err
}

func (m *Memory) find(op, name string) (*node, error) {
	n := m.nodes[name]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// vacant checks that a name does not exist and that its directory does.
func (m *Memory) vacant(op, name string) error {
	if m.nodes[name] != nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrExist}
	}
	dir := m.nodes[path.Dir(name)]
	if dir == nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if !dir.mode.IsDir() {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return nil
}
