package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/test/testcheck"
)

// trip is a transport whose answers come from a function.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(r *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	if r.Method == http.MethodHead {
		body = ""
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}
}

// impatient opens a bucket whose requests go to a function, and are retried without a pause.
func impatient(t *testing.T, name string, endpoints []string, log io.Writer, f trip) *Store {
	t.Helper()
	stores := &Stores{Endpoints: endpoints, Log: slog.New(slog.NewTextHandler(log, nil))}
	s, _, err := stores.Open(name)
	testcheck.Must(t, err)
	t.Cleanup(stores.Close)
	s.transport, s.patience = f, patience{Policy: retry.Policy{}, tries: 5, first: 3, silent: time.Minute}
	return s
}

const secretKey = "wJalrXUtnFEMIsecret"

func keys(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": ""} {
		t.Setenv(name, value)
	}
}

// TestFailures checks the message and the number of tries for each answer. Messages name the object, the reason and the
// remedy, and never a credential.
func TestFailures(t *testing.T) {
	keys(t)
	for _, c := range []struct {
		status int
		code   string
		header []string
		want   string
		tries  int
	}{
		{404, "NoSuchBucket", nil, "s3://b does not exist at h: see its name, and the address that `endpoint` gives", 1},
		{403, "AccessDenied", nil, "s3://b/x: access denied: the credentials (from AWS_ACCESS_KEY_ID) lack s3:GetObject (it answered 403 (AccessDenied))", 1},
		{403, "InvalidAccessKeyId", nil, "s3://b/x: the store does not accept the credentials (from AWS_ACCESS_KEY_ID)", 1},
		{400, "ExpiredToken", nil, "s3://b/x: the credentials (from AWS_ACCESS_KEY_ID) have expired: renew them", 1},
		{403, "RequestTimeTooSkewed", []string{"Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}, "s3://b/x: the clocks of this host and of the store differ by", 1},
		{403, "SignatureDoesNotMatch", []string{"Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}, "the clocks of this host", 1},
		{403, "InvalidObjectState", nil, "s3://b/x is archived: restore it in the store, then run again", 1},
		{412, "PreconditionFailed", nil, "s3://b/x has changed since it was listed", 1},
		{301, "PermanentRedirect", []string{"X-Amz-Bucket-Region", "eu-9"}, "s3://b is in region eu-9", 2},
		{503, "SlowDown", nil, "s3://b/x at h: it answered 503 (SlowDown)", 5},
		{500, "", nil, "s3://b/x at h: it answered 500", 5},
	} {
		tries := 0
		log := &bytes.Buffer{}
		s := impatient(t, "s3://b/x", []string{"s3=https://h"}, log, func(r *http.Request) (*http.Response, error) {
			tries++
			return response(r, c.status, "<Error><Code>"+c.code+"</Code></Error>", c.header...), nil
		})
		err := s.read(t.Context(), object{key: "x", size: 10, tag: "t"}, 0, make([]byte, 10))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+log.String(), secretKey) {
			t.Errorf("%d %s: %v, want %q", c.status, c.code, err, c.want)
		}
		if tries != c.tries {
			t.Errorf("%d %s: %d tries, want %d", c.status, c.code, tries, c.tries)
		}
	}
}

// TestRateLimit checks that a request is repeated that Google refuses for its rate, with the status of a denial.
func TestRateLimit(t *testing.T) {
	for _, code := range []string{"rateLimitExceeded", "userRateLimitExceeded"} {
		tries := 0
		s := impatient(t, "gs://b/x", []string{"gs=https://h?credentials=none"}, io.Discard, func(r *http.Request) (*http.Response, error) {
			tries++
			return response(r, 403, `{"error":{"errors":[{"reason":"`+code+`"}]}}`), nil
		})
		_, err := s.Stat(t.Context(), "/x")
		if err == nil || !strings.HasSuffix(err.Error(), "gs://b/x at h: it answered 403 ("+code+")") || tries != 5 {
			t.Errorf("%d tries: %v", tries, err)
		}
	}
}

// TestHeadSaysWhy checks that the reason of a failed HEAD request, whose answer has no body, is obtained by reading one
// byte.
func TestHeadSaysWhy(t *testing.T) {
	keys(t)
	s := impatient(t, "s3://b/x", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		return response(r, 400, "<Error><Code>ExpiredToken</Code></Error>"), nil
	})
	if _, err := s.Stat(t.Context(), "/x"); err == nil || !strings.Contains(err.Error(), "have expired") {
		t.Errorf("%v", err)
	}
}

// TestHeadInAnotherRegion checks that an object is found whose region only the answer to a GET request names.
func TestHeadInAnotherRegion(t *testing.T) {
	keys(t)
	s := impatient(t, "s3://b/x", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-9/s3/") {
			return response(r, 400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-9</Region></Error>"), nil
		}
		h := response(r, 200, "", "Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT", "ETag", `"e"`)
		h.ContentLength = 5
		return h, nil
	})
	if _, err := s.Stat(t.Context(), "/x"); err != nil {
		t.Error(err)
	}
}

// TestNoCredentials checks that requests without credentials are not signed, and that the error of a refusal says that
// none were found.
func TestNoCredentials(t *testing.T) {
	keys(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			t.Error("it is signed")
		}
		return response(r, 403, "<Error><Code>AccessDenied</Code></Error>"), nil
	})
	if _, err := s.ReadDir(t.Context(), "/"); err == nil || !strings.Contains(err.Error(), "s3://b: access denied: the credentials (none were found) lack s3:ListBucket") {
		t.Errorf("%v", err)
	}
}

// TestRegion checks that a request is repeated at the region that Amazon reports for the bucket, and signed for that
// region.
func TestRegion(t *testing.T) {
	keys(t)
	var hosts []string
	s := impatient(t, "s3://b", nil, io.Discard, func(r *http.Request) (*http.Response, error) {
		hosts = append(hosts, r.URL.Host)
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/") {
			return response(r, 301, "<Error><Code>PermanentRedirect</Code></Error>", "X-Amz-Bucket-Region", "eu-west-1"), nil
		}
		return response(r, 200, "<ListBucketResult></ListBucketResult>"), nil
	})
	_, err := s.ReadDir(t.Context(), "/")
	if want := "[b.s3.us-east-1.amazonaws.com b.s3.eu-west-1.amazonaws.com]"; err != nil || fmt.Sprint(hosts) != want {
		t.Errorf("%v, %v; want %s", hosts, err, want)
	}
}

// TestRegionOfTwo checks that the second of two first requests is repeated too, if the first was answered before it: by then the bucket's region is
// known. A failure at the region that the request was signed for is no redirection.
func TestRegionOfTwo(t *testing.T) {
	keys(t)
	for _, status := range []int{301, 307, 400} {
		var both sync.WaitGroup
		both.Add(2)
		var requests atomic.Int32
		s := impatient(t, "s3://b", nil, io.Discard, func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/") {
				both.Done()
				both.Wait()
				return response(r, status, "<Error><Code>AuthorizationHeaderMalformed</Code></Error>", "X-Amz-Bucket-Region", "eu-west-1"), nil
			}
			if r.Method == http.MethodHead {
				return response(r, 400, "", "X-Amz-Bucket-Region", "eu-west-1"), nil
			}
			if r.Header.Get("Range") != "" {
				return response(r, 400, "<Error><Code>ExpiredToken</Code></Error>", "X-Amz-Bucket-Region", "eu-west-1"), nil
			}
			return response(r, 200, "<ListBucketResult></ListBucketResult>"), nil
		})
		var g sync.WaitGroup
		for range 2 {
			g.Go(func() {
				if _, err := s.ReadDir(t.Context(), "/"); err != nil {
					t.Errorf("%d: %v", status, err)
				}
			})
		}
		g.Wait()
		if n := requests.Load(); n != 4 {
			t.Errorf("%d: %d requests", status, n)
		}
		if _, err := s.Stat(t.Context(), "/x"); err == nil || !strings.Contains(err.Error(), "have expired") {
			t.Errorf("%d: %v", status, err)
		}
		if n := requests.Load(); n != 6 {
			t.Errorf("%d: %d requests in the end", status, n)
		}
	}
}

// TestWrongBytes checks that answers without the requested bytes are errors.
func TestWrongBytes(t *testing.T) {
	keys(t)
	for _, c := range []struct {
		status int
		header []string
		want   string
	}{
		{206, []string{"Content-Range", "bytes 0-9/10", "ETag", `"u"`}, "has changed since it was listed (its tag was t, it is u)"},
		{206, []string{"Content-Range", "bytes 0-9/11"}, "has changed since it was listed (its size was 10, it is 11)"},
		{206, []string{"Content-Range", "bytes 1-10/*"}, "it sent bytes 1-10, not those from 0"},
		{206, []string{"Content-Range", "bytes 0-4/10"}, "it sent 5 of 10 bytes"},
		{204, nil, "the store does not give parts of objects"},
	} {
		s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
			return response(r, c.status, "0123456789", c.header...), nil
		})
		if err := s.read(t.Context(), object{key: "x", size: 10, tag: "t"}, 0, make([]byte, 10)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestUnreachable checks that the error names the address, and that an address that never answered is given up after
// few tries.
func TestUnreachable(t *testing.T) {
	keys(t)
	tries := 0
	s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(*http.Request) (*http.Response, error) {
		tries++
		return nil, errors.New("connection refused")
	})
	_, err := s.Stat(t.Context(), "/x")
	if err == nil || tries != 3 || !strings.Contains(err.Error(), "s3://b/x at h: connection refused (see the network, and the address that `endpoint` gives)") {
		t.Errorf("%d tries: %v", tries, err)
	}
	if _, ok := errors.AsType[*OutOfReachError](err); !ok {
		t.Errorf("%T: %v", err, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Stat(ctx, "/x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestStrangeKeys checks that keys that no path can name are refused, and that an object that represents a directory is
// read as a directory.
func TestStrangeKeys(t *testing.T) {
	keys(t)
	list := ""
	s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodHead || r.URL.Query().Get("list-type") == "" {
			return response(r, 404, "<Error><Code>NoSuchKey</Code></Error>"), nil
		}
		return response(r, 200, "<ListBucketResult>"+list+"</ListBucketResult>"), nil
	})
	object := func(key string, size int) string {
		return fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size><LastModified>2026-11-25T00:00:00.000Z</LastModified><ETag>\"e\"</ETag></Contents>", key, size)
	}
	prefix := func(key string) string { return "<CommonPrefixes><Prefix>" + key + "</Prefix></CommonPrefixes>" }
	for _, c := range []struct{ list, want string }{
		{object("d/", 0) + object("d/x", 1) + prefix("d/y/"), "y/ x"},
		{object("d/y", 0) + prefix("d/y/"), "y/"},
		{object("d/y", 1) + prefix("d/y/"), "s3://b/d/y is an object, and a directory of others: name what is meant (a pattern such as y/*)"},
		{prefix("d//"), "a key with //, /./ or /../ cannot be named as a path"},
		{prefix("d/../"), "a key with //, /./ or /../ cannot be named as a path"},
		{object("d/", 5), "the key ends with a slash and has data"},
		{"", "file does not exist"},
	} {
		list = c.list
		entries, err := s.ReadDir(t.Context(), "/d")
		var got []string
		for _, e := range entries {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			}
			got = append(got, name)
		}
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || (c.list == "") != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, want %q", c.list, err, c.want)
			}
		} else if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.list, got, c.want)
		}
	}
}
