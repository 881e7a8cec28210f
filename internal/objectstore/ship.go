package objectstore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// shipped is a bucket of S3's protocol for another process: its address, and the keys that this process has found.
type shipped struct {
	Base   string `json:"base"`
	Region string `json:"region,omitempty"`
	Home   bool   `json:"home,omitempty"`
	ID     string `json:"id,omitempty"` // empty: requests are not signed
	Secret string `json:"secret,omitempty"`
	Token  string `json:"token,omitempty"`
}

// CanShip reports whether [Stores.Ship] accepts the bucket of a name, which must have S3's protocol.
func CanShip(name string) bool {
	p, err := Parse(name)
	return err == nil && p.kind != kindGCS && p.kind != kindAzure
}

// Ship returns the settings that another process needs to read the buckets of the given names, for [Stores.Take]. They contain the keys and are a
// secret. Keys of a role are valid until they expire.
func (s *Stores) Ship(ctx context.Context, names []string) ([]byte, error) {
	all := map[string]shipped{}
	for _, name := range names {
		one, _, err := s.Open(name)
		if err != nil {
			return nil, err
		}
		p, ok := one.protocol.(*s3)
		if !ok {
			return nil, fmt.Errorf("%s is not of S3's protocol", one.root)
		}
		v, err := p.keys.get(ctx)
		for try := 1; err != nil && !final(err) && ctx.Err() == nil && try < one.patience.tries; try++ {
			if err := one.patience.Sleep(ctx, try); err != nil {
				return nil, err
			}
			v, err = p.keys.get(ctx)
		}
		if final(err) {
			return nil, err
		}
		if err != nil {
			return nil, &OutOfReachError{err}
		}
		p.mu.Lock()
		all[one.root] = shipped{p.base.String(), p.region, p.home, v.AccessKeyID, v.SecretAccessKey, v.SessionToken}
		p.mu.Unlock()
	}
	return json.Marshal(all)
}

// Take sets the addresses and keys from [Stores.Ship], for buckets that are opened later. Those buckets use no others.
func (s *Stores) Take(secret []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.Unmarshal(secret, &s.shipped); err != nil {
		return fmt.Errorf("buckets and their keys that the job has shipped cannot be read (%d bytes)", len(secret))
	}
	return nil
}

func (c shipped) protocol() (*s3, error) {
	base, err := url.Parse(c.Base)
	if err != nil {
		return nil, fmt.Errorf("a bucket's address that the job has shipped cannot be read")
	}
	keys := &s3Keys{asked: true}
	if c.ID != "" {
		keys = &s3Keys{places: []*keyPlace{{name: "the job's submission", Credentials: credentials.NewStaticV4(c.ID, c.Secret, c.Token)}}}
	}
	return &s3{keys: keys, base: base, home: c.Home, region: c.Region}, nil
}
