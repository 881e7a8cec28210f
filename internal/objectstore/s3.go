package objectstore

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"bulkload/pkg/setting"
)

// s3 is the protocol of Amazon S3, which many other stores implement.
type s3 struct {
	keys *s3Keys
	base *url.URL // of the bucket
	home bool     // base is Amazon's own address, which depends on the region

	mu     sync.Mutex
	region string
}

// emptySum is the SHA-256 of an empty body: no request has a body.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func (p *s3) request(method, key, action string, query url.Values) *request {
	p.mu.Lock()
	base := *p.base
	p.mu.Unlock()
	u := base
	u.Path += "/" + key
	u.RawPath = s3utils.EncodePath(u.Path)
	if query != nil {
		u.Path, u.RawPath, u.RawQuery = cmp.Or(base.Path, "/"), "", s3utils.QueryEncode(query)
	}
	return &request{method: method, url: &u, header: http.Header{"X-Amz-Content-Sha256": {emptySum}}, action: action}
}

// markerToken begins a token that stands for a marker, which follows it. No token of a store can have this character.
const markerToken = "\x00"

// list requests a page in version 2 of lists. A store that has only version 1 ignores that, and gives no token: its next page is requested with a
// marker, in version 1.
func (p *s3) list(prefix, token string, most int) *request {
	marker, old := strings.CutPrefix(token, markerToken)
	name := "continuation-token"
	if old {
		name = "marker"
	}
	query := listQuery(prefix, "max-keys", most, name, marker)
	if !old {
		query.Set("list-type", "2")
	}
	query.Set("encoding-type", "url")
	return p.request(http.MethodGet, "", "s3:ListBucket", query)
}

func (p *s3) page(body []byte, token string) (page, error) {
	var list struct {
		XMLName  xml.Name
		Encoding string `xml:"EncodingType"`
		Contents []struct {
			Key          string
			Size         int64
			LastModified time.Time
			ETag         string
		}
		CommonPrefixes []struct{ Prefix string }
		IsTruncated    bool
		Next           string `xml:"NextContinuationToken"`
		NextMarker     string
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		return page{}, fmt.Errorf("a list that cannot be read: %w", err)
	}
	if list.XMLName.Local != "ListBucketResult" {
		return page{}, finalf("it answered with %s, not with a list: is this a store of S3's protocol?", setting.Shorten(list.XMLName.Local, 40))
	}
	decoded := func(s string) (string, error) {
		if list.Encoding != "url" {
			return s, nil
		}
		return url.QueryUnescape(s)
	}
	var out page
	for _, o := range list.Contents {
		key, err := decoded(o.Key)
		if err != nil {
			return page{}, err
		}
		out.objects = append(out.objects, object{key: key, size: o.Size, modified: o.LastModified, tag: unquoted(o.ETag)})
	}
	for _, d := range list.CommonPrefixes {
		prefix, err := decoded(d.Prefix)
		if err != nil {
			return page{}, err
		}
		out.prefixes = append(out.prefixes, prefix)
	}
	marker, old := strings.CutPrefix(token, markerToken)
	if list.IsTruncated {
		if out.next = list.Next; out.next == "" {
			next, _ := decoded(list.NextMarker)
			last, err := out.last(next)
			if err != nil {
				return page{}, err
			}
			if last <= marker {
				return page{}, errIgnored
			}
			out.next = markerToken + last
		}
	}
	if old {
		return out, out.follow(marker)
	}
	return out, nil
}

// errIgnored reports a store that does not continue a list, so that objects would be missing.
var errIgnored = finalf("the store does not continue a list after the given marker, so objects would be missing: is its address the right one?")

// follow returns an error unless all entries follow the marker, which version 1 of lists requires. It removes the marker's own object, which was on
// the page before. The directory that contains the marker may be listed again.
func (l *page) follow(marker string) error {
	l.objects = slices.DeleteFunc(l.objects, func(o object) bool { return o.key == marker })
	for _, o := range l.objects {
		if o.key < marker {
			return errIgnored
		}
	}
	for _, dir := range l.prefixes {
		if dir < marker && !strings.HasPrefix(marker, dir) {
			return errIgnored
		}
	}
	return nil
}

// last returns the marker of the next page in version 1 of lists: the greatest key or directory of this page, or next, which the store names, if it
// is below that directory. Any other one may be the first entry of the next page, which would then be missing.
func (l *page) last(next string) (string, error) {
	names := slices.Clone(l.prefixes)
	for _, o := range l.objects {
		names = append(names, o.key)
	}
	switch {
	case !slices.IsSorted(l.prefixes) || !slices.IsSorted(names[len(l.prefixes):]):
		return "", finalf("the list is cut off and not in the order of its keys, so its next page cannot be requested")
	case len(names) == 0:
		return "", finalf("the list is cut off, without the token of its next page")
	}
	last := slices.Max(names)
	if slices.Contains(l.prefixes, last) && strings.HasPrefix(next, last) {
		return next, nil
	}
	return last, nil
}

func (p *s3) head(key string) *request {
	return p.request(http.MethodHead, key, "s3:GetObject, or s3:ListBucket if there is no such object", nil)
}

func (p *s3) get(o object) *request {
	return p.request(http.MethodGet, o.key, "s3:GetObject", nil).unchanged(o)
}

func (p *s3) describe(resp *http.Response) (object, error) { return described(resp) }

// described returns an object from the headers of a response.
func described(resp *http.Response) (object, error) {
	o := object{size: resp.ContentLength, tag: unquoted(resp.Header.Get("ETag"))}
	var err error
	if o.modified, err = http.ParseTime(resp.Header.Get("Last-Modified")); err != nil || o.size < 0 {
		return o, finalf("it says neither size nor time of the object")
	}
	return o, nil
}

func (p *s3) tag(h http.Header) string { return unquoted(h.Get("ETag")) }

func unquoted(tag string) string { return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`) }

func (p *s3) answer(resp *http.Response, body []byte) *answer {
	var e struct{ Code, Region string }
	_ = xml.Unmarshal(body, &e) // HEAD has none
	a := &answer{code: e.Code}
	region := cmp.Or(e.Region, resp.Header.Get("X-Amz-Bucket-Region"))
	elsewhere := resp.StatusCode == http.StatusBadRequest && region != p.asked(resp.Request) && (e.Code == "AuthorizationHeaderMalformed" || e.Code == "")
	if resp.StatusCode/100 == 3 || elsewhere {
		a.region = region
	}
	return a
}

// asked returns the region that a request was sent to: another request may have been redirected since.
func (p *s3) asked(h *http.Request) string {
	if scope, _, signed := strings.Cut(h.Header.Get("Authorization"), "/s3/aws4_request"); signed {
		return scope[strings.LastIndexByte(scope, '/')+1:]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.region
}

// redirect sets another region for signatures and, for Amazon's own address, for the host. It is the current one if another request has set it.
func (p *s3) redirect(region string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if region == p.region {
		return true
	}
	if p.region = region; p.home {
		host := awsEndpoint(region).Host
		if bucket, _, ok := strings.Cut(p.base.Host, ".s3."); ok {
			host = bucket + "." + host
		}
		u := *p.base
		u.Host = host
		p.base = &u
	}
	return true
}

func (p *s3) sign(ctx context.Context, h *http.Request) (*http.Request, error) {
	v, err := p.keys.get(ctx)
	if err != nil || v.AccessKeyID == "" {
		return h, err
	}
	p.mu.Lock()
	region := p.region
	p.mu.Unlock()
	return signer.SignV4(*h, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, cmp.Or(region, "us-east-1")), nil
}

func (p *s3) credentialSource() string { return p.keys.credentialSource() }
