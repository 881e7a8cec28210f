package objectstore

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// hanging gives credentials when it is let go.
type hanging struct {
	giver
	let   chan struct{}
	looks chan struct{} // gets a value for each look-up
}

func (h *hanging) Retrieve() (credentials.Value, error) {
	h.looks <- struct{}{}
	<-h.let
	return h.giver.Retrieve()
}

func (h *hanging) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return h.Retrieve()
}

// TestKeysHang checks that a look-up of S3's credentials that does not end, such as a program's, neither holds up a stop nor the names of messages, and
// that it is given up after a time; keys that come later are used.
func TestKeysHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{let: make(chan struct{}), looks: make(chan struct{}, 9)}
		k := &s3Keys{places: []*keyPlace{{name: "the shared file of AWS", Credentials: credentials.New(h), judge: inFile}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("stopped")
		go func() {
			<-h.looks
			if got := k.credentialSource(); got != "none were found" {
				t.Errorf("the source is %q", got)
			}
			cancel(why)
		}()
		began := time.Now()
		if _, err := k.get(ctx); err != why || time.Since(began) != 0 {
			t.Errorf("a stop: %v after %s", err, time.Since(began))
		}
		if _, err := k.get(ctx); err != why {
			t.Errorf("after a stop: %v", err)
		}
		_, err := k.get(t.Context())
		if _, repeated := errors.AsType[keysError](err); !repeated || final(err) || time.Since(began) > 2*keysTime {
			t.Errorf("it hangs: %v after %s", err, time.Since(began))
		}
		close(h.let)
		if v, err := k.get(t.Context()); v.AccessKeyID != "key" || err != nil || h.calls != 1 {
			t.Errorf("keys that came late: %q, %v after %d look-ups", v.AccessKeyID, err, h.calls)
		}
		// A renewal that hangs leaves the keys that are still valid.
		h.let = make(chan struct{})
		defer close(h.let)
		<-time.After(49 * time.Minute)
		began = time.Now()
		if v, err := k.get(t.Context()); v.AccessKeyID != "key" || err != nil || time.Since(began) != keysTime {
			t.Errorf("a renewal that hangs: %q, %v after %s", v.AccessKeyID, err, time.Since(began))
		}
	})
}

// slowProgram fails after a time, as a program of credential_process does.
type slowProgram struct {
	credentials.Expiry
	takes time.Duration
	runs  atomic.Int64 // begun; one that is given up still runs
}

func (p *slowProgram) Retrieve() (v credentials.Value, err error) {
	p.runs.Add(1)
	<-time.After(p.takes)
	return v, errors.New("exit status 1")
}

func (p *slowProgram) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return p.Retrieve()
}

// TestSlowProgram checks that a look-up that is repeated joins the one that is under way: a slow program runs once, and its failure is reported.
// It hangs if a look-up waits for the lock of minio-go, which stops the clock.
func TestSlowProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slowProgram{takes: keysTime + 8*time.Second}
		k := &s3Keys{places: []*keyPlace{{name: "a program", Credentials: credentials.New(p)}}}
		began := time.Now()
		for _, c := range []struct {
			want string
			runs int64
			took time.Duration
		}{{errSilent.Error(), 1, keysTime}, {"exit status 1", 1, p.takes}, {errSilent.Error(), 2, p.takes + keysTime}, {"exit status 1", 2, 2 * p.takes}} {
			_, err := k.get(t.Context())
			if _, repeated := errors.AsType[keysError](err); !repeated || !strings.HasSuffix(err.Error(), c.want) || p.runs.Load() != c.runs || time.Since(began) != c.took {
				t.Errorf("%v after %d runs and %s, want %q after %d and %s", err, p.runs.Load(), time.Since(began), c.want, c.runs, c.took)
			}
		}
	})
}

// serviceAccount has the environment name a service account of Google.
func serviceAccount(t *testing.T) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	testcheck.Must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	testcheck.Must(t, err)
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "a@b", "token_uri": "https://accounts/token", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))})
	testcheck.Must(t, err)
	name := filepath.Join(t.TempDir(), "account.json")
	testcheck.Must(t, os.WriteFile(name, file, 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", name)
}

// TestTokenHangs checks that a server of Google that gives no token neither holds up a stop nor messages, and that its request ends and is repeated.
func TestTokenHangs(t *testing.T) {
	serviceAccount(t)
	synctest.Test(t, func(t *testing.T) {
		s := impatient(t, "gs://b", nil, io.Discard, func(r *http.Request) (*http.Response, error) { return response(r, 200, "{}"), nil })
		p, asked := s.protocol.(*gcs), 0
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("stopped")
		p.client.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if asked++; asked == 1 {
				go func() {
					if got := p.credentialSource(); got != "from GOOGLE_APPLICATION_CREDENTIALS or gcloud" {
						t.Errorf("the source is %q", got)
					}
					cancel(why)
				}()
			}
			if asked < 4 {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			return response(r, 200, `{"access_token":"x","expires_in":3600}`, "Content-Type", "application/json"), nil
		})
		began := time.Now()
		if _, err := s.ReadDir(ctx, "/"); err != why || time.Since(began) != 0 {
			t.Errorf("a stop: %v after %s", err, time.Since(began))
		}
		if _, err := s.ReadDir(t.Context(), "/"); err != nil || asked != 4 || time.Since(began) != 3*keysTime {
			t.Errorf("it hangs: %v after %s and %d requests", err, time.Since(began), asked)
		}
	})
}

// hangingIdentity gives no token.
type hangingIdentity struct{}

func (hangingIdentity) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (t azcore.AccessToken, err error) {
	<-ctx.Done()
	return t, ctx.Err()
}

// TestIdentityHangs checks that an identity of Azure that gives no token is given up after a time, and asked again.
func TestIdentityHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &azureKeys{tokens: hangingIdentity{}}
		began := time.Now()
		err := k.sign(t.Context(), &http.Request{Header: http.Header{}})
		if _, repeated := errors.AsType[keysError](err); !repeated || final(err) || time.Since(began) != keysTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
