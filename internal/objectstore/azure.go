package objectstore

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// azure is the protocol of Azure Blob Storage, which Data Lake accounts support too.
type azure struct {
	base *url.URL // of the container
	keys *azureKeys
}

// azureVersion is the version of Azure's protocol.
const azureVersion = "2021-08-06"

func (p *azure) request(method, key, action string, query url.Values) *request {
	u := *p.base
	if key != "" {
		u.Path += "/" + key
		u.RawPath = p.base.EscapedPath() + "/" + strings.ReplaceAll(url.PathEscape(key), "%2F", "/")
	}
	u.RawQuery = query.Encode()
	return &request{method: method, url: &u, header: http.Header{"X-Ms-Version": {azureVersion}}, action: action}
}

func (p *azure) list(prefix, token string, most int) *request {
	query := listQuery(prefix, "maxresults", most, "marker", token)
	query.Set("restype", "container")
	query.Set("comp", "list")
	return p.request(http.MethodGet, "", "the right to list (Storage Blob Data Reader)", query)
}

// azureName is a name in a list. Azure percent-encodes a name that XML cannot contain.
type azureName struct{ key string }

func (n *azureName) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var e struct {
		Encoded bool   `xml:"Encoded,attr"`
		Text    string `xml:",chardata"`
	}
	err := d.DecodeElement(&e, &start)
	if n.key = e.Text; err == nil && e.Encoded {
		n.key, err = url.PathUnescape(e.Text)
	}
	return err
}

func (p *azure) page(body []byte, _ string) (page, error) {
	var list struct {
		Blobs []struct {
			Name       azureName
			Properties struct {
				Modified string `xml:"Last-Modified"`
				Etag     string
				Size     int64 `xml:"Content-Length"`
			}
		} `xml:"Blobs>Blob"`
		Prefixes []struct{ Name azureName } `xml:"Blobs>BlobPrefix"`
		Next     string                     `xml:"NextMarker"`
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		return page{}, fmt.Errorf("a list that cannot be read: %w", err)
	}
	out := page{next: list.Next}
	for _, b := range list.Blobs {
		modified, err := http.ParseTime(b.Properties.Modified)
		if err != nil {
			return page{}, err
		}
		out.objects = append(out.objects, object{key: b.Name.key, size: b.Properties.Size, modified: modified, tag: unquoted(b.Properties.Etag)})
	}
	for _, d := range list.Prefixes {
		out.prefixes = append(out.prefixes, d.Name.key)
	}
	return out, nil
}

func (p *azure) head(key string) *request {
	return p.request(http.MethodHead, key, "the right to read (Storage Blob Data Reader)", nil)
}

func (p *azure) get(o object) *request {
	return p.request(http.MethodGet, o.key, "the right to read (Storage Blob Data Reader)", nil).unchanged(o)
}

// describe parses a description. A Data Lake describes a directory as an empty blob; describe reports that as not found.
func (p *azure) describe(resp *http.Response) (object, error) {
	if resp.Header.Get("X-Ms-Meta-Hdi_isfolder") == "true" {
		return object{}, &answer{status: http.StatusNotFound, code: "BlobNotFound"}
	}
	return described(resp)
}

func (p *azure) tag(h http.Header) string { return unquoted(h.Get("ETag")) }

func (p *azure) answer(resp *http.Response, body []byte) *answer {
	var e struct{ Code string }
	_ = xml.Unmarshal(body, &e) // HEAD has none
	if code := resp.Header.Get("X-Ms-Error-Code"); code != "" {
		e.Code = code
	}
	return &answer{code: e.Code}
}

func (p *azure) sign(ctx context.Context, h *http.Request) (*http.Request, error) {
	return h, p.keys.sign(ctx, h)
}

func (p *azure) credentialSource() string { return p.keys.source }

func (p *azure) redirect(string) bool { return false }
