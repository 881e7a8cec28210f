package hdfsio

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/hadoop/kms"
	"bulkload/pkg/kerberos"
)

// Keys are the settings for requests to the key management servers (KMS) of encryption zones for the data keys of files. Requests
// authenticate with one of Tokens, otherwise with the login of [Security], otherwise with the user's name. The zero value works for most
// clusters: the NameNode names its KMS.
type Keys struct {
	// Provider is the KMS address in the form of hadoop.security.key.provider.path, for NameNodes that do not name their KMS.
	Provider string
	// Tokens are delegation tokens of kind [KeyTokenKind]. The token whose service is the KMS is used; a single token is always used.
	Tokens []*kerberos.Token
	// TLS is called for a KMS with https. Nil: the system's trusted certificates.
	TLS func() (*tls.Config, error)
}

// KeyTokenKind is the kind of the delegation tokens of a KMS.
const KeyTokenKind = kms.TokenKind

// KeyError reports a file in an encryption zone without its data key.
type KeyError struct {
	Op, Path string
	Key      string // the zone's key and its version, such as k1@0
	User     string
	Err      error
}

func (e *KeyError) Error() string {
	text := fmt.Sprintf("%s %s in an encryption zone: ", e.Op, e.Path)
	switch {
	case errors.Is(e.Err, kms.ErrDenied):
		text += fmt.Sprintf("user %s may not decrypt with key %s: have DECRYPT_EEK on it granted (kms-acls.xml, Ranger)", e.User, e.Key)
	case errors.Is(e.Err, kms.ErrNoKey):
		text += fmt.Sprintf("the KMS has no key %s: have it restored", e.Key)
	case errors.Is(e.Err, kms.ErrLogin):
		text += fmt.Sprintf("the KMS does not accept the login of %s: look at the ticket or token", e.User)
	default:
		text += "no key " + e.Key
	}
	return text + ": " + e.Err.Error()
}

func (e *KeyError) Unwrap() error { return e.Err }

// Final reports whether further attempts fail in the same way: a KMS has refused the key.
func (e *KeyError) Final() bool { return kms.Final(e.Err) || errors.Is(e.Err, errNoKeyServer) }

// errNoKeyServer is the error for a configuration without a usable KMS.
var errNoKeyServer = errors.New("no KMS can be asked (hadoop.security.key.provider.path of core-site.xml)")

// keyServers holds the KMS client, which is created when the first encrypted file is opened.
type keyServers struct {
	mu     sync.Mutex
	client *kms.Client
}

func (k *keyServers) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.client != nil {
		k.client.Close()
		k.client = nil
	}
}

// keyServer returns the client of the KMS that the NameNode names, otherwise of the configured one.
func (h *HDFS) keyServer(ctx context.Context) (*kms.Client, error) {
	h.keys.mu.Lock()
	defer h.keys.mu.Unlock()
	if h.keys.client != nil {
		return h.keys.client, nil
	}
	d, err := h.dfs.Defaults(ctx)
	if err != nil {
		return nil, err
	}
	address := cmp.Or(d.KeyProvider, h.options.Keys.Provider)
	if address == "" {
		return nil, errNoKeyServer
	}
	servers, err := kms.ParseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKeyServer, err)
	}
	token, err := kms.TokenFor(ctx, address, h.options.Keys.Tokens)
	if err != nil {
		return nil, err
	}
	o := kms.Options{Servers: servers, Token: token, User: h.options.User}
	if h.options.Keys.TLS != nil && strings.HasPrefix(servers[0], "https:") {
		if o.TLS, err = h.options.Keys.TLS(); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoKeyServer, err)
		}
	}
	if s := h.options.Security; s != nil && s.Kerberos != nil {
		o.Kerberos = s.Kerberos
	}
	h.keys.client = kms.New(o)
	return h.keys.client, nil
}

// cipherOf returns the cipher of a file, nil for a file that is not encrypted. It retries if a KMS does not answer.
func (h *HDFS) cipherOf(ctx context.Context, op, name string, e *dfs.Encryption) (c *dfs.Cipher, err error) {
	if e == nil {
		return nil, nil
	}
	var key []byte
	err = h.repeat(ctx, op, name, func() error {
		k, err := h.keyServer(ctx)
		if err == nil {
			key, err = k.DataKey(ctx, kms.EncryptedKey{Name: e.KeyName, Version: e.KeyVersion, Material: e.Key, IV: e.IV})
		}
		return err
	})
	if err == nil {
		c, err = e.Cipher(key)
	}
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return nil, &KeyError{Op: op, Path: name, Key: e.KeyVersion, User: h.options.User, Err: err}
}

// Zone is an encryption zone. The zero value means no zone.
type Zone struct {
	Root string // its directory
	Key  string // the name of its key; empty if the user may not know it
}

// Zone returns the encryption zone of a path, which need not exist. HDFS renames only within a zone. A NameNode returns it to users who may
// read the path. For others, Zone returns the highest of the encrypted directories above the path, which differs in a zone within a zone.
func (h *HDFS) Zone(ctx context.Context, name string) (z Zone, err error) {
	name, err = cleanName("zone", name)
	if err != nil {
		return z, err
	}
	err = h.repeat(ctx, "zone", name, func() error {
		z.Root, z.Key, err = h.dfs.Zone(ctx, name)
		return err
	})
	if javaClass(err) != "" && !transient(err) && !errors.Is(err, fs.ErrPermission) {
		return z, nil // a router, or an older NameNode, that knows no zones
	}
	if !errors.Is(err, fs.ErrPermission) {
		return z, err
	}
	for ; ; name = path.Dir(name) {
		info, err := h.stat(ctx, "zone", name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		case err != nil:
			return z, err
		case info.encrypted():
			z.Root = name
		default:
			return z, nil
		}
		if name == "/" {
			return z, nil
		}
	}
}

// encrypted reports whether a file or directory is in an encryption zone (HAS_CRYPT of HdfsFileStatusProto.Flags, Hadoop 3).
func (i hdfsInfo) encrypted() bool {
	const hasCrypt = 0x02
	return i.status().GetFlags()&hasCrypt != 0
}

// encryption returns the encryption of a file, nil outside of encryption zones. Directories of a zone have none.
func (i hdfsInfo) encryption() *dfs.Encryption {
	e := i.status().GetFileEncryptionInfo()
	if e == nil {
		return nil
	}
	return &dfs.Encryption{Suite: uint64(e.GetSuite()), Protocol: uint64(e.GetCryptoProtocolVersion()), Key: e.GetKey(), IV: e.GetIv(),
		KeyName: e.GetKeyName(), KeyVersion: e.GetEzKeyVersionName()}
}

// crypt encrypts or decrypts one stream. Without a key it leaves all bytes unchanged.
type crypt struct {
	key    *dfs.Cipher
	stream cipher.Stream
	at     int64 // offset of stream in the file
	buf    []byte
}

// apply encrypts or decrypts src, which begins at off in the file, to dst. Both are the same operation.
func (c *crypt) apply(dst, src []byte, off int64) {
	if c.key == nil {
		return
	}
	if c.stream == nil || c.at != off {
		c.stream = c.key.At(off)
	}
	c.stream.XORKeyStream(dst, src)
	c.at = off + int64(len(src))
}

// encryptAtOnce is the number of bytes encrypted at a time: a buffer of this size is still in the processor's cache when it is sent.
const encryptAtOnce = 128 << 10

// encrypt returns the bytes to store at off of the file: p itself without a key, otherwise the encrypted form of at most its
// first encryptAtOnce bytes, valid until the next call.
func (c *crypt) encrypt(p []byte, off int64) []byte {
	if c.key == nil {
		return p
	}
	if p = p[:min(len(p), encryptAtOnce)]; cap(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	b := c.buf[:len(p)]
	c.apply(b, p, off)
	return b
}
