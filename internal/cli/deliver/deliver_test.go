package deliver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseTarget(t *testing.T) {
	for _, tc := range []struct{ in, want, user, query string }{
		{"http://host:9091", "http://host:9091", "", ""},
		{"https://tina:s3cret@host/base/?token=s3cret#s3cret", "https://host/base/", "tina:s3cret", "token=s3cret"},
		{"http://:s3cret@host", "http://host", ":s3cret", ""},
	} {
		got, err := ParseTarget(tc.in)
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		user := ""
		if name, password, ok := got.User(); ok {
			user = name + ":" + password
		}
		if got.String() != tc.want || user != tc.user || got.Query() != tc.query {
			t.Errorf("%s: %s, user %q, query %q", tc.in, got, user, got.Query())
		}
	}
	for _, in := range []string{"", "host:9091", "ftp://tina:s3cret@host", "http://tina:s3cret@", "http://tina:s3/cret@host", "http://tina:s3 cret@host", "http://h:s3cret"} {
		if _, err := ParseTarget(in); err == nil || strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "tina") {
			t.Errorf("%s: error %v", in, err)
		}
	}
}

func TestTargetPath(t *testing.T) {
	for in, want := range map[string]string{"http://h": "http://h/a/b", "http://h/": "http://h/a/b", "http://h/base": "http://h/base/a/b"} {
		target, err := ParseTarget(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.Join("a/b").String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if target.HasPath() != strings.Contains(in, "base") {
			t.Errorf("%s: has a path: %v", in, target.HasPath())
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("https://tina:s3cret@host:1/base?x=y#z")
	f.Add("http://[::1]:80")
	f.Fuzz(func(t *testing.T, in string) {
		target, err := ParseTarget(in)
		if err != nil {
			return
		}
		if again, err := ParseTarget(target.String()); err != nil || again.String() != target.String() {
			t.Errorf("%q became %q, which became %q (%v)", in, target, again, err)
		}
	})
}

func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &url.Error{Op: "Post", URL: "http://h/?token=s3cret", Err: errors.New("refused")}
		for _, tc := range []struct {
			name   string
			errs   []error // of each try
			want   string
			calls  int
			during time.Duration
		}{
			{"at once", []error{nil}, "", 1, 0},
			{"at last", []error{broken, broken, nil}, "", 3, 1500 * time.Millisecond},
			{"never", []error{broken, broken, broken}, "try 3: refused", 3, 1500 * time.Millisecond},
			{"refused for good", []error{broken, final{errors.New("unfit")}}, "try 2: unfit", 2, 500 * time.Millisecond},
		} {
			calls, begun := 0, time.Now()
			err := Try(t.Context(), Tries, func(context.Context) error { calls++; return tc.errs[calls-1] })
			if fmt.Sprint(err) != tc.want && (tc.want != "" || err != nil) {
				t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
			}
			if calls != tc.calls || time.Since(begun) != tc.during {
				t.Errorf("%s: %d calls in %s, want %d in %s", tc.name, calls, time.Since(begun), tc.calls, tc.during)
			}
		}
	})
}

// TestTryEnds checks that a pause ends with its context.
func TestTryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begun := time.Now()
		err := Try(ctx, Tries, func(context.Context) error { return errors.New("refused") })
		if err == nil || err.Error() != "try 1: refused" || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("error %v in %s", err, time.Since(begun))
		}
	})
}

func TestCheck(t *testing.T) {
	for code, want := range map[int]string{200: "", 202: "", 302: "final", 400: "final", 401: "final", 408: "again", 429: "again", 500: "again", 503: "again"} {
		w := httptest.NewRecorder()
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.Repeat("x", 4096))
		got, err := "", check(w.Result())
		if _, ok := errors.AsType[final](err); ok {
			got = "final"
		} else if err != nil {
			got = "again"
		}
		if got != want {
			t.Errorf("%d: %v is %q, want %q", code, err, got, want)
		}
		if err != nil && (len(err.Error()) > 400 || !strings.Contains(err.Error(), http.StatusText(code))) {
			t.Errorf("%d: error %v", code, err)
		}
	}
}
