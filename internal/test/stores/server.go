package stores

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// S3 serves one bucket with the part of S3's protocol that reading needs. Its objects are files of a directory, or bytes. Third-party
// servers check that protocol (others_test.go); this one is fast, and its behaviour can be controlled.
type S3 struct {
	Bucket string
	Page   int // entries of a page of a list, at most 1000

	mu      sync.Mutex
	objects map[string]stored
	fail    func(key string) (status int, code string)
	lists   int
}

// stored is an object: a file, or bytes.
type stored struct {
	file     string
	data     []byte
	size     int64
	modified time.Time
	etag     string
}

// Serve adds all files below a directory as objects; their keys are their paths.
func (s *S3) Serve(dir string) error {
	return filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		key, err := filepath.Rel(dir, file)
		sum := md5.Sum([]byte(fmt.Sprint(file, info.Size(), info.ModTime())))
		s.set(filepath.ToSlash(key), stored{file: file, size: info.Size(), modified: info.ModTime(), etag: hex.EncodeToString(sum[:])})
		return err
	})
}

// Put adds an object with the given bytes.
func (s *S3) Put(key string, data []byte, modified time.Time) {
	sum := md5.Sum(data)
	s.set(key, stored{data: data, size: int64(len(data)), modified: modified, etag: hex.EncodeToString(sum[:])})
}

func (s *S3) set(key string, o stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]stored{}
	}
	s.objects[key] = o
}

// Delete removes an object.
func (s *S3) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Fail makes requests fail with the result of f, which gets an empty key for a list. A status of 0 is not a failure.
func (s *S3) Fail(f func(key string) (status int, code string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

func (s *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	o, ok := s.objects[key]
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if status, code := fail(key); status != 0 {
			refuse(w, status, code)
			return
		}
	}
	switch {
	case bucket != s.Bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case key == "":
		s.list(w, r.URL.Query())
	case !ok:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", `"`+o.etag+`"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		if o.file == "" {
			http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.data))
			return
		}
		f, err := os.Open(o.file)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "InternalError")
			return
		}
		defer f.Close()
		http.ServeContent(w, r, "", o.modified, f)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// list responds with a page: keys and prefixes together in the order of their bytes.
func (s *S3) list(w http.ResponseWriter, q url.Values) {
	type content struct {
		Key, LastModified, ETag string
		Size                    int64
	}
	type prefix struct{ Prefix string }
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		Contents              []content
		CommonPrefixes        []prefix
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
	}
	out.EncodingType = "url"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	var names []string
	seen := map[string]bool{}
	for key := range s.objects {
		rest, ok := strings.CutPrefix(key, q.Get("prefix"))
		if !ok {
			continue
		}
		if dir, _, deeper := strings.Cut(rest, "/"); deeper {
			key = q.Get("prefix") + dir + "/"
		}
		if !seen[key] && key > q.Get("continuation-token") {
			seen[key] = true
			names = append(names, key)
		}
	}
	slices.Sort(names)
	most, _ := strconv.Atoi(q.Get("max-keys"))
	if s.Page > 0 {
		most = min(most, s.Page)
	}
	if len(names) > most {
		names = names[:most]
		out.IsTruncated, out.NextContinuationToken = true, names[most-1]
	}
	for _, name := range names {
		if o, ok := s.objects[name]; ok && !(strings.HasSuffix(name, "/") && name != q.Get("prefix")) {
			out.Contents = append(out.Contents, content{url.QueryEscape(name), o.modified.UTC().Format("2006-01-02T15:04:05.000Z"), `"` + o.etag + `"`, o.size})
		} else {
			out.CommonPrefixes = append(out.CommonPrefixes, prefix{url.QueryEscape(name)})
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}
