package objectstore

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3Keys finds the credentials of S3's protocol, in the first place that has some. It renews them before they expire.
type s3Keys struct {
	places []keyPlace
	client *http.Client

	mu    sync.Mutex
	found *keyPlace
	asked bool
}

// keyPlace is a place that may have credentials.
type keyPlace struct {
	name string
	*credentials.Credentials
}

// variables lists the environment variables of credentials by kind: access key, secret, token.
var variables = map[kind][][3]string{
	kindOSS: {{"OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"}, {"ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"}},
	kindOBS: {{"OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN"}},
	kindS3:  {{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}},
}

// newS3Keys returns keys that are looked for in the environment, in Hadoop's configuration, in the shared file of AWS's tools, and in the machine's
// role: web identity, container, instance.
func newS3Keys(k kind, value func(string) string) *s3Keys {
	keys := &s3Keys{client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, DisableKeepAlives: true}}}
	add := func(name string, c *credentials.Credentials) { keys.places = append(keys.places, keyPlace{name, c}) }
	names := variables[k]
	if k != kindS3 {
		names = append(names[:len(names):len(names)], variables[kindS3]...)
	}
	for _, n := range names {
		if id, secret := os.Getenv(n[0]), os.Getenv(n[1]); id != "" && secret != "" {
			add(n[0], credentials.NewStaticV4(id, secret, os.Getenv(n[2])))
		}
	}
	prefix := map[kind]string{kindS3: "fs.s3a."}[k]
	if id, secret := value(prefix+"access.key"), value(prefix+"secret.key"); prefix != "" && id != "" && secret != "" {
		add(prefix+"access.key", credentials.NewStaticV4(id, secret, value(prefix+"session.token")))
	}
	add("the shared file of AWS", credentials.NewFileAWSCredentials("", ""))
	if k == kindS3 && os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		add("the role of the machine", credentials.New(&credentials.IAM{Client: keys.client}))
	}
	return keys
}

// get returns the credentials. If there are none, the access key is empty: requests are then not signed, as public buckets accept.
func (k *s3Keys) get(ctx context.Context) (credentials.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.places {
		if k.asked && k.found != &k.places[i] {
			continue
		}
		v, err := k.places[i].GetWithContext(&credentials.CredContext{Client: k.client})
		if err == nil && v.AccessKeyID != "" {
			k.found, k.asked = &k.places[i], true
			return v, nil
		}
		if k.asked {
			return v, finalf("the credentials (%s) could not be renewed: %w", k.found.name, bare(orNone(err)))
		}
		if err := ctx.Err(); err != nil {
			return v, err
		}
	}
	k.asked = true
	return credentials.Value{}, nil
}

// credentialSource names the source of the credentials.
func (k *s3Keys) credentialSource() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		return "none were found"
	}
	return "from " + k.found.name
}
