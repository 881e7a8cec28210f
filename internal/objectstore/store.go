package objectstore

import (
	"cmp"
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
	answered  atomic.Bool // some request

	ctx     context.Context // of what is read before it is asked for
	cancel  context.CancelFunc
	work    sync.WaitGroup
	buffers sync.Pool

	mu    sync.Mutex
	seen  map[string]object // by key, as they were listed or described last
	leads map[string]*lead  // by key
}

// protocol makes requests and reads answers.
type protocol interface {
	// list requests the entries directly below a prefix: a page of them, from a token on.
	list(prefix, token string, most int) *request
	page(body []byte) (page, error)
	// head asks for an object's description, and describe reads it. get asks for bytes of an object, if it is still that one.
	head(key string) *request
	describe(*http.Response) (object, error)
	get(o object) *request
	// tag returns an object's in an answer, empty if it does not say.
	tag(http.Header) string
	answer(resp *http.Response, body []byte) *answer
	sign(context.Context, *http.Request) (*http.Request, error)
	// who says where the credentials are from.
	who() string
	// redirect has later requests go to another region, and is false if it cannot.
	redirect(region string) bool
}

// object is a store's description of an object.
type object struct {
	key      string
	size     int64
	modified time.Time // whole seconds: that is what all answers have
	tag      string
}

// page is a part of a list.
type page struct {
	objects  []object
	prefixes []string // directories, with a slash at their ends
	next     string   // token of the next page, empty after the last
}

// mostSeen bounds what is kept of objects.
const mostSeen = 1 << 16

// remember keeps what was seen of objects: opening one needs no request then.
func (s *Store) remember(list ...object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen)+len(list) > mostSeen {
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

// name returns a key's as messages have it.
func (s *Store) name(key string) string { return s.root + "/" + key }

func keyOf(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// Stat describes an object, or a directory: the beginning of other keys, before a slash.
func (s *Store) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	key := keyOf(name)
	if key != "" {
		o, err := s.describe(ctx, key)
		if err == nil {
			return info{s, o, false}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	prefix := key
	if prefix != "" {
		prefix += "/"
	}
	p, err := s.page(ctx, prefix, "", 1)
	if err != nil {
		return nil, err
	}
	if key != "" && len(p.objects) == 0 && len(p.prefixes) == 0 && p.next == "" {
		return nil, &fs.PathError{Op: "stat", Path: s.name(key), Err: fs.ErrNotExist}
	}
	return info{s, object{key: key}, true}, nil
}

// describe asks for an object's description.
func (s *Store) describe(ctx context.Context, key string) (o object, err error) {
	err = s.do(ctx, func() (*request, error) {
		q := s.protocol.head(key)
		q.what = s.name(key)
		return q, nil
	}, func(resp *http.Response) (err error) {
		o, err = s.protocol.describe(resp)
		return err
	})
	if err != nil {
		return object{}, s.whyNot(ctx, key, err)
	}
	o.key, o.modified = key, inSeconds(o.modified)
	s.remember(o)
	return o, nil
}

// whyNot asks for a byte of an object that is not described: the answer to HEAD has no body, and does not say why.
func (s *Store) whyNot(ctx context.Context, key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return err
	}
	if a, ok := errors.AsType[*answer](err); !ok || a.code != "" || !isDenial(a.status) {
		return err
	}
	again := s.do(ctx, func() (*request, error) {
		q := s.protocol.get(object{key: key})
		q.what = s.name(key)
		q.header.Set("Range", "bytes=0-0")
		return q, nil
	}, func(*http.Response) error { return nil })
	return cmp.Or(again, err)
}

// ReadDir lists a directory: objects, and prefixes up to the next slash.
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
		p.objects = slices.DeleteFunc(p.objects, func(o object) bool { return o.key == prefix && o.size == 0 }) // it stands for the directory
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

// distinct leaves out empty objects that stand for directories, and refuses others of such names.
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

// element sees that what a list has can be named.
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

// page asks for a page of a list.
func (s *Store) page(ctx context.Context, prefix, token string, most int) (p page, err error) {
	err = s.do(ctx, func() (*request, error) {
		q := s.protocol.list(prefix, token, most)
		q.what = s.root
		return q, nil
	}, func(resp *http.Response) error {
		body, err := readBody(resp)
		if err == nil {
			p, err = s.protocol.page(body)
		}
		return err
	})
	for i := range p.objects {
		p.objects[i].modified = inSeconds(p.objects[i].modified)
	}
	return p, err
}

// inSeconds returns a time as all answers of a store have it.
func inSeconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// listQuery returns the query for the entries directly below a prefix, at most a number of them, from a token on.
func listQuery(prefix, mostName string, most int, tokenName, token string) url.Values {
	query := url.Values{"delimiter": {"/"}, "prefix": {prefix}, mostName: {strconv.Itoa(most)}}
	if token != "" {
		query.Set(tokenName, token)
	}
	return query
}

// mostBody bounds what is kept of a list or a description.
const mostBody = 64 << 20

// readBody reads a whole body, of the length that its header has.
func readBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err == nil && resp.ContentLength > int64(len(body)) {
		err = &shortError{int64(len(body)), resp.ContentLength}
	}
	return body, err
}

// Open opens an object as it was seen last. Reads fail if it has changed since.
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

// ReadAheadMemory returns the bytes of memory that reading a file of the store takes.
func (s *Store) ReadAheadMemory() int64 { return readAheadMemory }

// Rest gives back idle connections.
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

// FileID returns a digest of the object's name and tag: an object that is written again has another one, and so have two objects of the same
// content.
func (i info) FileID() (uint64, bool) {
	if i.dir || i.object.tag == "" {
		return 0, !i.dir
	}
	sum := sha256.Sum256([]byte(i.store.root + "/" + i.object.key + "\x00" + i.object.tag))
	return binary.BigEndian.Uint64(sum[:]) | 1, true
}
