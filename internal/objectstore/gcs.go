package objectstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"bulkload/pkg/setting"
)

// gcs is the protocol of Google Cloud Storage's JSON API.
type gcs struct {
	base   *url.URL
	bucket string
	open   bool         // requests have no credentials
	client *http.Client // for tokens

	looking sharedLookUp[*oauth2.Token] // one at a time, which use what follows
	tokens  oauth2.TokenSource
	last    lastKeys[*oauth2.Token]

	mu    sync.Mutex
	found string // written by a look-up
}

const gcsFields = "name,size,updated,generation"

func (p *gcs) request(key, action string, query url.Values) *request {
	u := *p.base
	u.Path += "/storage/v1/b/" + p.bucket + "/o"
	raw := u.EscapedPath()
	if key != "" {
		u.Path += "/" + key
		u.RawPath = raw + "/" + url.PathEscape(key)
	}
	u.RawQuery = query.Encode()
	// With this header the store sends a gzip-compressed object as it is stored.
	return &request{method: http.MethodGet, url: &u, header: http.Header{"Accept-Encoding": {"gzip"}}, action: action}
}

func (p *gcs) list(prefix, token string, most int) *request {
	query := listQuery(prefix, "maxResults", most, "pageToken", token)
	query.Set("fields", "prefixes,nextPageToken,items("+gcsFields+")")
	return p.request("", "storage.objects.list", query)
}

// gcsObject is an object's description.
type gcsObject struct {
	Name       string    `json:"name"`
	Size       int64     `json:"size,string"`
	Updated    time.Time `json:"updated"`
	Generation string    `json:"generation"`
}

func (g *gcsObject) object() object {
	return object{key: g.Name, size: g.Size, modified: g.Updated, tag: g.Generation}
}

func (p *gcs) page(body []byte, _ string) (page, error) {
	var list struct {
		Prefixes []string    `json:"prefixes"`
		Items    []gcsObject `json:"items"`
		Next     string      `json:"nextPageToken"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return page{}, fmt.Errorf("a list that cannot be read: %w", err)
	}
	out := page{prefixes: list.Prefixes, next: list.Next}
	for i := range list.Items {
		out.objects = append(out.objects, list.Items[i].object())
	}
	return out, nil
}

func (p *gcs) head(key string) *request {
	return p.request(key, "storage.objects.get", url.Values{"fields": {gcsFields}})
}

func (p *gcs) describe(resp *http.Response) (object, error) {
	body, err := readBody(resp)
	if err != nil {
		return object{}, err
	}
	var g gcsObject
	if err := json.Unmarshal(body, &g); err != nil {
		return object{}, fmt.Errorf("a description that cannot be read: %w", err)
	}
	return g.object(), nil
}

func (p *gcs) get(o object) *request {
	query := url.Values{"alt": {"media"}}
	if o.tag != "" {
		query.Set("ifGenerationMatch", o.tag)
	}
	return p.request(o.key, "storage.objects.get", query)
}

func (p *gcs) tag(h http.Header) string { return h.Get("X-Goog-Generation") }

func (p *gcs) answer(_ *http.Response, body []byte) *answer {
	var e struct {
		Error struct {
			Errors []struct{ Reason string }
		}
	}
	a := &answer{}
	if json.Unmarshal(body, &e) == nil && len(e.Error.Errors) > 0 {
		a.code = e.Error.Errors[0].Reason
	}
	return a
}

// sign adds a token from the credentials that Google's tools find: GOOGLE_APPLICATION_CREDENTIALS, gcloud's file, the machine's account.
func (p *gcs) sign(ctx context.Context, h *http.Request) (*http.Request, error) {
	if p.open {
		return h, nil
	}
	t, err := p.looking.share(ctx, p.look)
	if err != nil {
		return h, err
	}
	t.SetAuthHeader(h)
	return h, nil
}

// look finds the credentials at first, and returns a token.
func (p *gcs) look() (*oauth2.Token, error) {
	if p.tokens == nil {
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, p.client)
		c, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/devstorage.read_only")
		if err != nil {
			return nil, finalf("no credentials of Google were found: set GOOGLE_APPLICATION_CREDENTIALS, or credentials=none in the endpoint")
		}
		found := "of this machine"
		if c.JSON != nil {
			found = "from GOOGLE_APPLICATION_CREDENTIALS or gcloud"
		}
		p.mu.Lock()
		p.tokens, p.found = c.TokenSource, found
		p.mu.Unlock()
	}
	return p.last.get(p.token)
}

// token returns a token, and the time when it expires.
func (p *gcs) token() (*oauth2.Token, time.Time, error) {
	t, err := p.tokens.Token()
	if err == nil {
		return t, t.Expiry, nil
	}
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok && r.Response != nil {
		err = fmt.Errorf("the credentials (%s) give no token: %s answered %d (%s)", p.found, r.Response.Request.URL.Host, r.Response.StatusCode, setting.Shorten(cmp.Or(r.ErrorCode, "no reason"), 40))
		if !passing(r.Response.StatusCode) {
			return nil, time.Time{}, finalError{err}
		}
		return nil, time.Time{}, keysError{err}
	}
	return nil, time.Time{}, keysError{fmt.Errorf("the credentials (%s) give no token: %w", p.found, bare(err))}
}

func (p *gcs) credentialSource() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.found, "none")
}

func (p *gcs) redirect(string) bool { return false }
