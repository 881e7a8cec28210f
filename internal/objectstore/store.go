package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store is one bucket as a file system. Names begin with a slash, which is not part of a key. Its methods may be called by several goroutines.
type Store struct {
	root      string
	protocol  protocol
	transport http.RoundTripper
	patience  patience
	log       *slog.Logger
	answered  atomic.Bool // the store has answered a request

	ctx     context.Context // of the leads: reads that begin before a reader requests them
	cancel  context.CancelFunc
	work    sync.WaitGroup
	buffers sync.Pool

	mu    sync.Mutex
	seen  map[string]object // by key, as last listed or described
	leads map[string]*lead  // by key
}

// protocol makes requests and parses answers.
type protocol interface {
	// list requests a page of the entries directly below a prefix, at most most of them. An empty token requests the first page.
	list(prefix, token string, most int) *request
	// page parses the page of a token.
	page(body []byte, token string) (page, error)
	// head requests an object's description, and describe parses it. get requests bytes of an object, provided that its tag is unchanged.
	head(key string) *request
	describe(*http.Response) (object, error)
	get(o object) *request
	// tag returns the object's tag from an answer, empty if it has none.
	tag(http.Header) string
	answer(resp *http.Response, body []byte) *answer
	sign(context.Context, *http.Request) (*http.Request, error)
	// credentialSource names the source of the credentials.
	credentialSource() string
	// redirect sends later requests to another region. It returns false if it cannot.
	redirect(region string) bool
}

// object is a store's description of an object.
type object struct {
	key      string
	size     int64
	modified time.Time // in whole seconds, the precision of all answers
	tag      string
}

// page is a part of a list.
type page struct {
	objects  []object
	prefixes []string // directories, with a trailing slash
	next     string   // token of the next page, empty after the last
}

// maxSeen is the largest number of descriptions that a Store keeps.
const maxSeen = 1 << 16

// remember keeps descriptions of objects, so that opening one needs no request.
func (s *Store) remember(list ...object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen)+len(list) > maxSeen {
		s.seen = make(map[string]object)
	}
	for _, o := range list {
		s.seen[o.key] = o
	}
}

func (s *Store) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, key)
}

// name returns the name of a key for messages.
func (s *Store) name(key string) string { return s.root + "/" + key }

func keyOf(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// Stat describes an object, or a directory: a prefix of other keys that ends before a slash. A key that is both names the object if that has
// data, and the directory otherwise.
func (s *Store) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	key := keyOf(name)
	var o object
	err := fs.ErrNotExist
	if key != "" {
		o, err = s.describe(ctx, key)
	}
	found := err == nil
	switch {
	case found && o.size > 0:
		return info{s, o, false}, nil
	case !found && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	prefix := key
	if prefix != "" {
		prefix += "/"
	}
	p, err := s.page(ctx, prefix, "", 1)
	if a, ok := errors.AsType[*answer](err); found && ok && isDenial(a.status) { // a single object needs no right to list
		return info{s, o, false}, nil
	}
	if err != nil {
		return nil, err
	}
	switch none := len(p.objects) == 0 && len(p.prefixes) == 0; {
	case found && none:
		return info{s, o, false}, nil
	case key != "" && none && p.next == "":
		return nil, &fs.PathError{Op: "stat", Path: s.name(key), Err: fs.ErrNotExist}
	}
	return info{s, object{key: key}, true}, nil
}

func (s *Store) describe(ctx context.Context, key string) (o object, err error) {
	head := func() error {
		return s.do(ctx, s.name(key), func() *request { return s.protocol.head(key) }, func(resp *http.Response) (err error) {
			o, err = s.protocol.describe(resp)
			return err
		})
	}
	if err = head(); err != nil {
		if err = s.whyNot(ctx, key, err); err == nil {
			err = head() // in the region that the other request was sent on to
		}
	}
	if err != nil {
		return object{}, err
	}
	o.key, o.modified = key, inSeconds(o.modified)
	s.remember(o)
	return o, nil
}

// whyNot requests one byte of an object after a failed HEAD, whose answer has no body and so no error code. It returns the error of that request, which
// is nil if the object was read, or err if there is nothing to ask.
func (s *Store) whyNot(ctx context.Context, key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return err
	}
	if a, ok := errors.AsType[*answer](err); !ok || a.code != "" || !isDenial(a.status) {
		return err
	}
	return s.do(ctx, s.name(key), func() *request {
		q := s.protocol.get(object{key: key})
		q.header.Set("Range", "bytes=0-0")
		return q
	}, func(*http.Response) error { return nil })
}

// ReadDir lists a directory: its objects, and the prefixes up to the next slash as directories.
func (s *Store) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	prefix := keyOf(name)
	if prefix != "" {
		prefix += "/"
	}
	var list []fs.FileInfo
	there := false
	dirs := map[string]bool{}
	for token := ""; ; {
		p, err := s.page(ctx, prefix, token, 1000)
		if err != nil {
			return nil, err
		}
		there = there || len(p.objects) > 0 || len(p.prefixes) > 0
		for _, dir := range p.prefixes {
			key := strings.TrimSuffix(dir, "/")
			if err := s.element(prefix, key, true); err != nil {
				return nil, err
			}
			if !dirs[key] {
				dirs[key] = true
				list = append(list, info{s, object{key: key}, true})
			}
		}
		p.objects = slices.DeleteFunc(p.objects, func(o object) bool { return o.key == prefix && o.size == 0 }) // it represents the directory
		for _, o := range p.objects {
			if err := s.element(prefix, o.key, false); err != nil {
				return nil, err
			}
			list = append(list, info{s, o, false})
		}
		s.remember(p.objects...)
		if p.next == "" {
			break
		}
		if p.next == token {
			return nil, fmt.Errorf("%s/%s: the store gives the same page of the list again and again", s.root, prefix)
		}
		token = p.next
	}
	if !there && prefix != "" {
		return nil, &fs.PathError{Op: "readdir", Path: s.name(strings.TrimSuffix(prefix, "/")), Err: fs.ErrNotExist}
	}
	return s.distinct(list, dirs)
}

// distinct removes empty objects that have the name of a directory. Other objects with the name of a directory are an error.
func (s *Store) distinct(list []fs.FileInfo, dirs map[string]bool) ([]fs.FileInfo, error) {
	var both string
	list = slices.DeleteFunc(list, func(i fs.FileInfo) bool {
		o := i.(info)
		twice := !o.dir && dirs[o.object.key]
		if twice && o.object.size > 0 && both == "" {
			both = o.object.key
		}
		return twice
	})
	if both != "" {
		return nil, fmt.Errorf("%s is an object, and a directory of others: name what is meant (a pattern such as %s/*)", s.name(both), path.Base(both))
	}
	return list, nil
}

// element checks that a path can name an entry of a list.
func (s *Store) element(prefix, key string, dir bool) error {
	rest, _ := strings.CutPrefix(key, prefix)
	if err := checkKey(rest + "/x"); err != nil && (dir || rest != "") {
		return fmt.Errorf("%s: %w", s.name(key), err)
	}
	if rest == "" || strings.Contains(rest, "/") {
		return fmt.Errorf("%s: the key ends with a slash and has data, so no path names it: copy the object to another key", s.name(key))
	}
	return nil
}

func (s *Store) page(ctx context.Context, prefix, token string, most int) (p page, err error) {
	err = s.do(ctx, s.root, func() *request { return s.protocol.list(prefix, token, most) }, func(resp *http.Response) error {
		body, err := readBody(resp)
		if err == nil {
			p, err = s.protocol.page(body, token)
		}
		return err
	})
	for i := range p.objects {
		p.objects[i].modified = inSeconds(p.objects[i].modified)
	}
	return p, err
}

// inSeconds returns a time in UTC and whole seconds, the precision of all answers.
func inSeconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// listQuery returns the query for at most most entries directly below a prefix. An empty token requests the first page.
func listQuery(prefix, mostName string, most int, tokenName, token string) url.Values {
	query := url.Values{"delimiter": {"/"}, "prefix": {prefix}, mostName: {strconv.Itoa(most)}}
	if token != "" {
		query.Set(tokenName, token)
	}
	return query
}

// maxBody is the largest size in bytes of a list or a description.
const maxBody = 64 << 20

// readBody reads a body, up to [maxBody]. A body shorter than the length in its header is an error.
func readBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err == nil && resp.ContentLength > int64(len(body)) {
		err = &shortError{int64(len(body)), resp.ContentLength}
	}
	return body, err
}

// Open opens an object in the version that was last listed or described. Reads fail if it has changed since then.
func (s *Store) Open(ctx context.Context, name string) (fs.File, error) {
	key := keyOf(name)
	s.mu.Lock()
	o, ok := s.seen[key]
	s.mu.Unlock()
	if !ok {
		var err error
		if o, err = s.describe(ctx, key); errors.Is(err, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "open", Path: s.name(key), Err: fs.ErrNotExist}
		} else if err != nil {
			return nil, err
		}
	}
	return newFile(ctx, s, o), nil
}

// ReadAheadMemory returns the memory in bytes that reading a file of the store takes.
func (s *Store) ReadAheadMemory() int64 { return readAheadMemory }

// Rest closes idle connections.
func (s *Store) Rest() {
	if t, ok := s.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// info describes an object or a directory.
type info struct {
	store  *Store
	object object
	dir    bool
}

func (i info) Name() string       { return path.Base("/" + i.object.key) }
func (i info) Size() int64        { return i.object.size }
func (i info) ModTime() time.Time { return i.object.modified }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Tag returns the ETag or the generation of an object.
func (i info) Tag() string { return i.object.tag }

// FileID returns a digest of the object's name and tag. It changes when an object is overwritten with a new tag, and differs between objects of the
// same content. An object without a tag has ID 0; a directory has none.
func (i info) FileID() (uint64, bool) {
	if i.dir || i.object.tag == "" {
		return 0, !i.dir
	}
	sum := sha256.Sum256([]byte(i.store.root + "/" + i.object.key + "\x00" + i.object.tag))
	return binary.BigEndian.Uint64(sum[:]) | 1, true
}
