package objectstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3Keys finds the credentials of S3's protocol, in the first place that has some. It renews them before they expire.
type s3Keys struct {
	places  []*keyPlace
	looking sharedLookUp[credentials.Value] // one at a time, which use what follows
	asked   bool
	last    lastKeys[credentials.Value]

	mu    sync.Mutex
	found *keyPlace // written by a look-up
}

// keyPlace is a place that may have credentials.
type keyPlace struct {
	name string
	*credentials.Credentials
	judge   func(error) lookUp // says what a failed look-up means; nil: it failed
	looking sharedLookUp[credentials.Value]
}

// lookUp is the meaning of a look-up without credentials.
type lookUp int

const (
	failed  lookUp = iota // it may succeed later
	absent                // the place has none
	silent                // nothing has answered
	refused               // it does not give this machine any
)

// lookUps is how often the machine's role is looked up if nothing answers. On most machines there is none to answer.
const lookUps = 3

// find looks the credentials up. The access key is empty if there are none.
func (p *keyPlace) find() (credentials.Value, error) {
	for try := 1; ; try++ {
		v, err := p.values()
		if err == nil {
			return v, nil
		}
		switch what := p.meaning(err); {
		case what == absent || what == silent && try == lookUps:
			return credentials.Value{}, nil
		case what == refused:
			return v, finalf("the credentials (%s) were refused: %w", p.name, bare(err))
		case what == failed:
			return v, keysError{fmt.Errorf("the credentials (%s) could not be looked up: %w", p.name, bare(err))}
		}
		<-time.After(100 * time.Millisecond)
	}
}

// errSilent reports that a look-up was given up.
var errSilent = fmt.Errorf("nothing came for %s", keysTime)

// values looks the credentials up, for [keysTime] at most: a program that gives them may hang. The next call joins a look-up that was given up.
func (p *keyPlace) values() (credentials.Value, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), keysTime, errSilent)
	defer cancel()
	return p.looking.share(ctx, func() (credentials.Value, error) { return p.GetWithContext(nil) })
}

func (p *keyPlace) meaning(err error) lookUp {
	if p.judge == nil || err == errSilent {
		return failed
	}
	return p.judge(err)
}

// inFile judges the error of the shared file: a file that cannot be read, or names a program that is not there, has none.
func inFile(err error) lookUp {
	_, exit := errors.AsType[*exec.ExitError](err)
	_, text := errors.AsType[*json.SyntaxError](err)
	if exit || text {
		return failed
	}
	return absent
}

// role is a transport for looking up the machine's role.
type role struct {
	http.RoundTripper
	named   bool // the environment has the role's address
	status  int  // of the last answer; 0: none came
	heard   bool // some answer came
	proxied bool // the last request went to a proxy, which answers if the machine has no metadata service
}

func (r *role) RoundTrip(q *http.Request) (*http.Response, error) {
	proxy, _ := http.ProxyFromEnvironment(q)
	resp, err := r.RoundTripper.RoundTrip(q)
	if r.status, r.proxied = 0, proxy != nil; err == nil {
		r.status, r.heard = resp.StatusCode, true
	}
	return resp, err
}

// noRole is minio-go's error for a machine without a role.
const noRole = "No IAM roles attached to this EC2 service"

func (r *role) judge(err error) lookUp {
	switch {
	case r.named && r.status >= 400 && !passing(r.status):
		return refused
	case r.named:
		return failed
	case !r.heard, r.proxied && passing(r.status):
		return silent
	case r.status >= 400 && !passing(r.status), err.Error() == noRole:
		return absent
	default:
		return failed
	}
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
	keys := &s3Keys{}
	add := func(name string, c *credentials.Credentials) {
		keys.places = append(keys.places, &keyPlace{name: name, Credentials: c})
	}
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
	keys.places = append(keys.places, &keyPlace{name: "the shared file of AWS", Credentials: credentials.NewFileAWSCredentials("", ""), judge: inFile})
	if k == kindS3 && os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		keys.places = append(keys.places, machineRole(""))
	}
	return keys
}

// machineRole returns the place of the machine's role, whose metadata service is at endpoint if that is not empty.
func machineRole(endpoint string) *keyPlace {
	r := &role{RoundTripper: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, DisableKeepAlives: true},
		named: cmp.Or(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) != ""}
	iam := &credentials.IAM{Client: &http.Client{Timeout: 10 * time.Second, Transport: r}, Endpoint: endpoint}
	return &keyPlace{name: "the role of the machine", Credentials: credentials.New(iam), judge: r.judge}
}

// get returns the credentials. If there are none, the access key is empty: requests are then not signed, as public buckets accept.
func (k *s3Keys) get(ctx context.Context) (credentials.Value, error) {
	return k.looking.share(ctx, k.look)
}

// look is a look-up in all places at first, and a renewal later.
func (k *s3Keys) look() (credentials.Value, error) {
	for i := 0; i < len(k.places) && !k.asked; i++ {
		v, err := k.places[i].find()
		if err != nil {
			return v, err
		}
		if v.AccessKeyID != "" {
			k.mu.Lock()
			k.found, k.asked = k.places[i], true
			k.mu.Unlock()
		}
	}
	if k.asked = true; k.found == nil {
		return credentials.Value{}, nil
	}
	return k.last.get(k.renew)
}

// renew returns the credentials of the place where they were found, and the time when they expire.
func (k *s3Keys) renew() (credentials.Value, time.Time, error) {
	v, err := k.found.values()
	switch {
	case err != nil && k.found.meaning(err) == refused:
		err = finalf("the credentials (%s) were refused: %w", k.found.name, bare(err))
	case err != nil || v.AccessKeyID == "":
		err = keysError{fmt.Errorf("the credentials (%s) could not be renewed: %w", k.found.name, bare(cmp.Or(err, errNone)))}
	}
	return v, v.Expiration, err
}

// errNone reports a place that has no credentials any more.
var errNone = errors.New("there are none")

func (k *s3Keys) credentialSource() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		return "none were found"
	}
	return "from " + k.found.name
}
