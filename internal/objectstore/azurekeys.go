package objectstore

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// azureKeys holds the credentials of an account: a key, a shared access signature (SAS), or an identity that obtains tokens.
type azureKeys struct {
	source  string
	account string
	key     []byte
	shared  url.Values
	tokens  azcore.TokenCredential
	last    lastKeys[azcore.AccessToken]
}

// azureConnection returns the fields of AZURE_STORAGE_CONNECTION_STRING, and the address of blobs if it has one. It returns none if the string is of another
// account than this one, in lower case: under its address may be a container of the same name.
func azureConnection(account string) (fields map[string]string, address *url.URL, err error) {
	fields = map[string]string{}
	for field := range strings.SplitSeq(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), ";") {
		if name, value, ok := strings.Cut(field, "="); ok {
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	owner := fields["AccountName"]
	if text := fields["BlobEndpoint"]; text != "" {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, nil, fmt.Errorf("BlobEndpoint of AZURE_STORAGE_CONNECTION_STRING: %w", err)
		}
		address, owner = e.url, cmp.Or(owner, ownerOf(e.url))
	}
	switch {
	case owner == "" && (address != nil || fields["SharedAccessSignature"] != ""):
		return nil, nil, errors.New("AZURE_STORAGE_CONNECTION_STRING names no account: add AccountName=NAME; to it")
	case strings.ToLower(owner) != account:
		return nil, nil, nil
	}
	return fields, address, nil
}

// ownerOf returns the account of an address of blobs: the first label of Azure's hosts, and the path's first element of others, as emulators have them.
// It is empty if the address has none.
func ownerOf(u *url.URL) string {
	if host := u.Hostname(); strings.Contains(strings.ToLower(host), ".blob.") {
		name, _, _ := strings.Cut(host, ".")
		return name
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return name
}

// newAzureKeys takes the credentials from the account's connection string and the environment, as Azure's tools do, or else from an identity.
func newAzureKeys(account string, c map[string]string) (*azureKeys, error) {
	k := &azureKeys{account: account}
	var key, sas string
	switch own := os.Getenv("AZURE_STORAGE_ACCOUNT"); {
	case c["AccountName"] != "" || c["SharedAccessSignature"] != "":
		k.source, key, sas = "from AZURE_STORAGE_CONNECTION_STRING", c["AccountKey"], c["SharedAccessSignature"]
	case own == "" || strings.ToLower(own) == account:
		if key = os.Getenv("AZURE_STORAGE_KEY"); key != "" {
			k.source = "from AZURE_STORAGE_KEY"
		} else if sas = os.Getenv("AZURE_STORAGE_SAS_TOKEN"); sas != "" {
			k.source = "from AZURE_STORAGE_SAS_TOKEN"
		}
	}
	var err error
	switch {
	case key != "":
		if k.key, err = base64.StdEncoding.DecodeString(key); err != nil {
			return nil, fmt.Errorf("the account's key (%s) is not in base64", k.source)
		}
	case sas != "":
		if k.shared, err = url.ParseQuery(strings.TrimPrefix(sas, "?")); err != nil {
			return nil, fmt.Errorf("the signature (%s) is not as Azure hands them out", k.source)
		}
	default:
		k.source = "of the identity that Azure's library finds"
		if k.tokens, err = azidentity.NewDefaultAzureCredential(nil); err != nil {
			return nil, fmt.Errorf("no credentials of Azure were found: %w", bare(err))
		}
	}
	return k, nil
}

func (k *azureKeys) sign(ctx context.Context, h *http.Request) error {
	h.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	switch {
	case k.key != nil:
		sum := hmac.New(sha256.New, k.key)
		sum.Write([]byte(k.text(h)))
		h.Header.Set("Authorization", "SharedKey "+k.account+":"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	case k.shared != nil:
		query := h.URL.Query()
		maps.Copy(query, k.shared)
		h.URL.RawQuery = query.Encode()
	case k.tokens != nil:
		t, err := k.last.get(func() (azcore.AccessToken, time.Time, error) { return k.token(ctx) })
		if err != nil {
			return err
		}
		h.Header.Set("Authorization", "Bearer "+t.Token)
	}
	return nil
}

// token requests a token of the identity, and returns the time when it expires.
func (k *azureKeys) token(ctx context.Context) (azcore.AccessToken, time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, keysTime, errSilent)
	defer cancel()
	t, err := k.tokens.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	if err == nil {
		return t, t.ExpiresOn, nil
	}
	refused, known := errors.AsType[*azidentity.AuthenticationFailedError](err)
	switch {
	case ctx.Err() != nil:
		err = keysError{fmt.Errorf("the credentials (%s) give no token: %w", k.source, context.Cause(ctx))}
	case known && refused.RawResponse != nil && !passing(refused.RawResponse.StatusCode), !known && !k.last.had():
		err = finalf("no credentials of Azure: set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or an identity (%w)", bare(err))
	default:
		err = keysError{fmt.Errorf("the credentials (%s) give no token: %w", k.source, bare(err))}
	}
	return t, time.Time{}, err
}

// text returns the string to sign with an account's key (see Authorize with Shared Key in the documentation of Azure Storage).
func (k *azureKeys) text(h *http.Request) string {
	lines := []string{h.Method}
	for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, h.Header.Get(name))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Header)) {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			lines = append(lines, lower+":"+strings.Join(h.Header[name], ","))
		}
	}
	lines = append(lines, "/"+k.account+h.URL.EscapedPath())
	query := h.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := slices.Sorted(slices.Values(query[name]))
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	return strings.Join(lines, "\n")
}
