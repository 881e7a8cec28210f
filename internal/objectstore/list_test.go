package objectstore

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// oldStore lists objects in version 1 of S3's protocol only. It may differ from S3 in how it continues lists.
type oldStore struct {
	keys   []string
	most   int
	plain  bool // keys are not encoded
	silent bool // it names no marker
	under  bool // the marker of a directory is the last key below it
	beyond bool // the marker is the first entry of the next page
	again  bool // a directory whose marker is given is listed again
	with   bool // the object of the marker is listed again
	ignore bool // markers are ignored
	lists  int
}

func (s *oldStore) answer(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if r.Method == http.MethodHead {
		return response(r, 404, ""), nil
	}
	s.lists++
	prefix, marker, most := q.Get("prefix"), q.Get("marker"), s.most
	if n := q.Get("max-keys"); n == "1" {
		most = 1
	}
	if s.ignore {
		marker = ""
	}
	last := map[string]string{} // the greatest key below each entry
	for _, key := range s.keys {
		rest, below := strings.CutPrefix(key, prefix)
		name := key
		if dir, _, is := strings.Cut(rest, "/"); is {
			name = prefix + dir + "/"
		}
		skipped := strings.HasSuffix(name, "/") && strings.HasPrefix(marker, name) && !s.again
		if below && (key > marker || key == marker && s.with) && !skipped {
			last[name] = key
		}
	}
	names := slices.Sorted(maps.Keys(last))
	var out strings.Builder
	text := func(key string) string {
		if !s.plain {
			key = url.QueryEscape(key)
		}
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(key))
		return b.String()
	}
	fmt.Fprintf(&out, "<ListBucketResult><IsTruncated>%t</IsTruncated>", len(names) > most)
	if !s.plain {
		out.WriteString("<EncodingType>url</EncodingType>")
	}
	if len(names) > most {
		after := names[most]
		names = names[:most]
		next := names[most-1]
		switch {
		case s.under:
			next = last[next]
		case s.beyond:
			next = after
		}
		if !s.silent {
			fmt.Fprintf(&out, "<NextMarker>%s</NextMarker>", text(next))
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			fmt.Fprintf(&out, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", text(name))
		} else {
			fmt.Fprintf(&out, "<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>1</Size></Contents>", text(name))
		}
	}
	return response(r, 200, out.String()+"</ListBucketResult>"), nil
}

// TestOldLists checks that a store that lists in version 1 only gives all entries, each once, or an error.
func TestOldLists(t *testing.T) {
	keys(t)
	testcheck.Check(t, func(rt *rapid.T) {
		chance := rapid.Bool()
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`d/[a-c %+é]{1,2}(/[x-z&]{1,2})?`), 1, 30, rapid.ID[string]).Draw(rt, "keys")
		store := &oldStore{most: rapid.IntRange(1, 5).Draw(rt, "most"), plain: chance.Draw(rt, "plain"), silent: chance.Draw(rt, "silent"),
			under: chance.Draw(rt, "under"), beyond: chance.Draw(rt, "beyond"), again: chance.Draw(rt, "again"), with: chance.Draw(rt, "with"), ignore: chance.Draw(rt, "ignore")}
		dirs, files := map[string]bool{}, map[string]bool{}
		for _, key := range names {
			if dir, _, is := strings.Cut(key[len("d/"):], "/"); is {
				dirs[dir+"/"] = true
			} else {
				files[dir] = true
			}
		}
		for file := range files {
			if dirs[file+"/"] { // refused for another reason
				delete(files, file)
				names = slices.DeleteFunc(names, func(key string) bool { return key == "d/"+file })
			}
		}
		store.keys = names
		want := slices.Sorted(maps.Keys(dirs))
		want = append(want, slices.Sorted(maps.Keys(files))...)
		s := impatient(t, "obs://b/d", []string{"obs=https://h"}, io.Discard, store.answer)
		list, err := s.ReadDir(t.Context(), "/d")
		var got []string
		for _, info := range list {
			if name := info.Name(); info.IsDir() {
				got = append(got, name+"/")
			} else {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		stuck := store.ignore || store.again || store.with
		if err == nil && !slices.Equal(got, want) || err != nil && !stuck {
			rt.Fatalf("%q, %v, want %q", got, err, want)
		}
		if store.ignore && len(want) > store.most && (err == nil || store.lists > 2) {
			rt.Fatalf("markers are ignored: %q, %v after %d lists", got, err, store.lists)
		}
		if info, err := s.Stat(t.Context(), "/d"); err != nil || !info.IsDir() {
			rt.Fatalf("%v, %v", info, err)
		}
	})
}

// TestOldListMarker checks which marker continues a page.
func TestOldListMarker(t *testing.T) {
	for _, c := range []struct{ key, dir, said, want string }{
		{"d/a", "", "", "d/a"}, {"d/a", "", "d/a", "d/a"}, {"d/a", "", "d/ab", "d/a"}, {"d/a", "", "d/b", "d/a"}, {"d/a", "d/b/", "d/a", "d/b/"},
		{"d/c", "d/b/", "d/c", "d/c"}, {"", "d/b/", "d/b/", "d/b/"}, {"", "d/b/", "d/b/x", "d/b/x"}, {"", "d/b/", "d/c", "d/b/"},
	} {
		var p page
		if c.key != "" {
			p.objects = []object{{key: c.key}}
		}
		if c.dir != "" {
			p.prefixes = []string{c.dir}
		}
		if got, err := p.last(c.said); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestOldListsInDisorder checks that a list that is cut off, and is not in order or is empty, is an error.
func TestOldListsInDisorder(t *testing.T) {
	keys(t)
	for what, list := range map[string]string{
		"not in the order of its keys": "<Contents><Key>d/b</Key></Contents><Contents><Key>d/a</Key></Contents>",
		"without the token":            "<NextMarker>d/z</NextMarker>",
	} {
		s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
			return response(r, 200, "<ListBucketResult><IsTruncated>true</IsTruncated>"+list+"</ListBucketResult>"), nil
		})
		if _, err := s.ReadDir(t.Context(), "/d"); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}

// TestObjectAndDirectory checks that a key that is an object, and a directory of others, names the object if it has data, and the
// directory otherwise: the others would be missing.
func TestObjectAndDirectory(t *testing.T) {
	keys(t)
	sizes := map[string]string{"mark": "0", "data": "5", "alone": "0", "secret": "0"}
	s := impatient(t, "s3://b/x", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		if size, ok := sizes[strings.TrimPrefix(r.URL.Path, "/b/")]; ok {
			h := response(r, 200, "", "Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT", "ETag", `"e"`)
			h.ContentLength = int64(size[0] - '0')
			return h, nil
		}
		switch prefix := r.URL.Query().Get("prefix"); prefix {
		case "secret/":
			return response(r, 403, "<Error><Code>AccessDenied</Code></Error>"), nil
		case "mark/", "data/":
			return response(r, 200, "<ListBucketResult><Contents><Key>"+prefix+"a</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents></ListBucketResult>"), nil
		}
		return response(r, 200, "<ListBucketResult></ListBucketResult>"), nil
	})
	for name, dir := range map[string]bool{"/mark": true, "/mark/": true, "/data": false, "/alone": false, "/alone/": false, "/secret": false} {
		if i, err := s.Stat(t.Context(), name); err != nil || i.IsDir() != dir {
			t.Errorf("%s: %v, %v; want a directory: %t", name, i, err, dir)
		}
	}
}
