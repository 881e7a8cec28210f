package objectstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/oauth2"
)

// giver gives credentials that are valid for an hour, or its error.
type giver struct {
	credentials.Expiry
	err   error
	calls int
}

func (g *giver) Retrieve() (v credentials.Value, err error) {
	g.calls++
	if g.err != nil {
		return v, g.err
	}
	end := time.Now().Add(time.Hour)
	g.SetExpiration(end, credentials.DefaultExpiryWindow)
	return credentials.Value{AccessKeyID: "key", SecretAccessKey: "s", Expiration: end}, nil
}

func (g *giver) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return g.Retrieve()
}

// TestRenewalFails checks that keys whose renewal fails are used until shortly before they expire, without a renewal for each request; that the
// error after that is repeated; and that a renewal is tried again.
func TestRenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &giver{}
		k := &s3Keys{places: []*keyPlace{{name: "the role of the machine", Credentials: credentials.New(g)}}}
		get := func(calls int, want string) {
			t.Helper()
			v, err := k.get(t.Context())
			_, repeated := errors.AsType[keysError](err)
			if v.AccessKeyID != want || (err != nil) != (want == "") || err != nil && (!repeated || final(err)) || g.calls != calls {
				t.Errorf("%q, %v after %d look-ups, want %q after %d", v.AccessKeyID, err, g.calls, want, calls)
			}
		}
		get(1, "key")
		g.err = errors.New("dial tcp 169.254.169.254:80: i/o timeout")
		<-time.After(49 * time.Minute)
		get(2, "key")
		get(2, "key") // no other attempt at once
		<-time.After(renewAgain)
		get(3, "key")
		<-time.After(11*time.Minute - renewAgain - lastUse)
		get(4, "")
		get(5, "")
		g.err = nil
		get(6, "key")
		get(6, "key")
	})
}

// TestKeysAreLookedUpAgain checks that a request is repeated if the credentials cannot be looked up at first, and that it is not sent without
// credentials.
func TestKeysAreLookedUpAgain(t *testing.T) {
	keys(t)
	for _, fails := range []int{1, 4, 5} {
		g := &giver{}
		s := impatient(t, "s3://b", []string{"s3=https://h"}, io.Discard, func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.Header.Get("Authorization"), "Credential=key/") {
				t.Errorf("%d failures: a request without credentials", fails)
			}
			return response(r, 200, "<ListBucketResult></ListBucketResult>"), nil
		})
		s.protocol.(*s3).keys = &s3Keys{places: []*keyPlace{{name: "a program", Credentials: credentials.New(g), judge: func(error) lookUp {
			if g.calls == fails {
				g.err = nil
			}
			return failed
		}}}}
		g.err = errors.New("no answer")
		_, err := s.ReadDir(t.Context(), "/")
		if fails < 5 && err != nil || fails == 5 && (err == nil || !strings.Contains(err.Error(), "s3://b: the credentials (a program) could not be looked up: no answer (see the network")) {
			t.Errorf("%d failures: %v", fails, err)
		}
	}
}

// TestMachineRole checks when the machine has no role, and that a metadata service that fails is asked again.
func TestMachineRole(t *testing.T) {
	for _, name := range []string{"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	status, role, calls := 0, "", 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		switch {
		case status != 200 && r.Method != http.MethodPut:
			w.WriteHeader(status)
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			io.WriteString(w, role)
		default:
			io.WriteString(w, `{"Code":"Success","AccessKeyId":"key","SecretAccessKey":"s","Expiration":"2099-01-01T00:00:00Z"}`)
		}
	}))
	defer service.Close()
	for what, c := range map[string]struct {
		status int
		role   string
		want   string // the key; "error": the look-up fails
		calls  int
	}{
		"a role": {200, "r", "key", 3}, "no role": {200, "", "", 2}, "no such service": {404, "", "", 2}, "not for this machine": {403, "", "", 2},
		"too many requests": {429, "r", "error", 2}, "a fault": {503, "r", "error", 2},
	} {
		status, role, calls = c.status, c.role, 0
		p := machineRole(service.URL)
		v, err := p.find()
		if _, repeated := errors.AsType[keysError](err); repeated != (c.want == "error") || err == nil && v.AccessKeyID != c.want || calls != c.calls {
			t.Errorf("%s: %q, %v after %d requests", what, v.AccessKeyID, err, calls)
		}
	}
	p := machineRole("http://" + testcheck.ClosedAddress(t))
	if v, err := p.find(); err != nil || v.AccessKeyID != "" {
		t.Errorf("nothing answers: %q, %v", v.AccessKeyID, err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.URL+"/")
	for status = range map[int]bool{400: true, 403: true} {
		p = machineRole("")
		if _, err := p.find(); !final(err) || !strings.Contains(err.Error(), "were refused") {
			t.Errorf("status %d of a service that the environment names: %v", status, err)
		}
		if _, _, err := (&s3Keys{found: p}).renew(); !final(err) {
			t.Errorf("status %d at the renewal: %v", status, err)
		}
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+testcheck.ClosedAddress(t)+"/")
	p = machineRole("")
	if v, err := p.find(); err == nil || v.AccessKeyID != "" {
		t.Errorf("the environment names a service that does not answer: %q, %v", v.AccessKeyID, err)
	}
}

// TestConnectionString checks that the address, the key and the signature of AZURE_STORAGE_CONNECTION_STRING are used for its own account only.
func TestConnectionString(t *testing.T) {
	for _, name := range []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"} {
		t.Setenv(name, "")
	}
	const sas, own, from = ";SharedAccessSignature=sv=1&sig=secret", "https://acctb.blob.core.windows.net/c", "from AZURE_STORAGE_CONNECTION_STRING"
	for _, c := range []struct{ text, account, base, source string }{
		{"BlobEndpoint=http://127.0.0.1:1/accta" + sas, "acctb.dfs.core.windows.net", own, ""},
		{"BlobEndpoint=http://127.0.0.1:1/acctb" + sas, "acctb.dfs.core.windows.net", "http://127.0.0.1:1/acctb/c", from},
		{"BlobEndpoint=http://azurite:1/acctb/" + sas, "acctb", "http://azurite:1/acctb/c", from},
		{"BlobEndpoint=http://localhost:1/accta" + sas, "acctb", own, ""},
		{"BlobEndpoint=https://accta.blob.core.windows.net/" + sas, "acctb", own, ""},
		{"BlobEndpoint=https://acctb.blob.core.windows.net/" + sas, "acctb", own, from},
		{"BlobEndpoint=https://AcctB.z1.Blob.storage.azure.net" + sas, "acctb", "https://AcctB.z1.Blob.storage.azure.net/c", from},
		{"AccountName=accta;BlobEndpoint=https://accta.blob.core.windows.net" + sas, "acctb", own, ""},
		{"AccountName=accta;AccountKey=c2VjcmV0;BlobEndpoint=https://data.example.com", "acctb", own, ""},
		{"AccountName=acctb;AccountKey=c2VjcmV0;BlobEndpoint=https://data.example.com", "acctb", "https://data.example.com/c", from},
		{"BlobEndpoint=http://127.0.0.1:1/acctb" + sas, "AcctB.DFS.core.windows.net", "http://127.0.0.1:1/acctb/c", from},
		{"BlobEndpoint=http://127.0.0.1:1/AcctB" + sas, "acctb", "http://127.0.0.1:1/AcctB/c", from},
		{"AccountName=AcctB;AccountKey=c2VjcmV0", "ACCTB.DFS.core.windows.net", own, from},
		{"AccountName=acctb" + sas, "acctb.blob.core.windows.net", own, from},
		{"UseDevelopmentStorage=true", "acctb", own, ""},
		{"BlobEndpoint=https://data.example.com" + sas, "acctb", "", "names no account: add AccountName"},
		{sas, "acctb", "", "names no account: add AccountName"},
	} {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", c.text)
		s, _, err := new(Stores).Open("abfs://c@" + c.account + "/x.csv")
		if c.base == "" {
			if err == nil || !strings.Contains(err.Error(), c.source) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s for %s: %v", c.text, c.account, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s for %s: %v", c.text, c.account, err)
			continue
		}
		if p := s.protocol.(*azure); p.base.String() != c.base || (p.keys.source == from) != (c.source == from) {
			t.Errorf("%s for %s: %s with credentials %s", c.text, c.account, p.base, p.keys.source)
		}
	}
	s, _, err := (&Stores{Endpoints: []string{"abfs=https://h?credentials=none"}}).Open("abfs://c@acctb/x.csv")
	if err != nil || s.protocol.(*azure).base.String() != "https://h/c" {
		t.Errorf("an endpoint without credentials: %v", err)
	}
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "Acctb")
	t.Setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
	s, _, err = new(Stores).Open("abfs://c@acctB/x.csv")
	if err != nil || s.protocol.(*azure).keys.source != "from AZURE_STORAGE_KEY" || s.protocol.(*azure).keys.account != "acctb" {
		t.Errorf("an account in letters of both cases: %v", err)
	}
}

// tokens gives tokens of Google or Azure for an hour, or its error.
type tokens struct {
	err   error
	calls int
}

func (s *tokens) Token() (*oauth2.Token, error) {
	if s.calls++; s.err != nil {
		return nil, s.err
	}
	return &oauth2.Token{AccessToken: "x", Expiry: time.Now().Add(time.Hour)}, nil
}

func (s *tokens) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if s.calls++; s.err != nil {
		return azcore.AccessToken{}, s.err
	}
	return azcore.AccessToken{Token: "x", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// TestTokens checks that a request is repeated if Google or Azure give no token for now, and not if they refuse one; and that a token is used until
// it expires.
func TestTokens(t *testing.T) {
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	t.Setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
	answered := func(status int) *http.Response {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("")), Request: &http.Request{URL: &url.URL{Host: "accounts"}}}
	}
	for what, c := range map[string]struct {
		google, azure error
		tries         int
	}{
		"a fault":           {&oauth2.RetrieveError{Response: answered(503)}, &azidentity.AuthenticationFailedError{RawResponse: answered(503)}, 5},
		"too many requests": {&oauth2.RetrieveError{Response: answered(429)}, &azidentity.AuthenticationFailedError{RawResponse: answered(429)}, 5},
		"no answer":         {errors.New("reset"), &azidentity.AuthenticationFailedError{}, 5},
		"a refusal":         {&oauth2.RetrieveError{Response: answered(400)}, &azidentity.AuthenticationFailedError{RawResponse: answered(401)}, 1},
	} {
		for name, err := range map[string]error{"gs://b": c.google, "abfs://b@account": c.azure} {
			s := impatient(t, name, nil, io.Discard, func(r *http.Request) (*http.Response, error) {
				return response(r, 200, map[bool]string{true: "{}", false: "<EnumerationResults></EnumerationResults>"}[name == "gs://b"]), nil
			})
			from := &tokens{err: err}
			var until *time.Time
			switch p := s.protocol.(type) {
			case *gcs:
				p.tokens, until = from, &p.last.until
			case *azure:
				p.keys = &azureKeys{tokens: from}
				until = &p.keys.last.until
			}
			if _, err := s.ReadDir(t.Context(), "/"); err == nil || from.calls != c.tries {
				t.Errorf("%s: %s: %v after %d tries, want %d", name, what, err, from.calls, c.tries)
			}
			from.err = nil
			_, first := s.ReadDir(t.Context(), "/")
			from.err = err
			if _, err := s.ReadDir(t.Context(), "/"); first != nil || err != nil {
				t.Errorf("%s: %s: %v, then %v with a token that is valid", name, what, first, err)
			}
			*until = time.Now()
			switch p := s.protocol.(type) {
			case *gcs:
				p.last.again = time.Time{}
			case *azure:
				p.keys.last.again = time.Time{}
			}
			if _, err := s.ReadDir(t.Context(), "/"); err == nil {
				t.Errorf("%s: %s: the token has expired", name, what)
			}
		}
	}
}
