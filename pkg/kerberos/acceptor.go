package kerberos

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Skew is the largest allowed difference between the clocks of callers and this host.
const Skew = 5 * time.Minute

// ErrRefused is the error of a token that proves no identity. Its text has the reason, for the log; the sender does not get it.
var ErrRefused = errors.New("the Kerberos token is refused")

// Acceptor is the service's side of authentication by tokens of HTTP Negotiate (RFC 4559, 4178, 4121). It is safe for concurrent use.
//
// It is stricter than gokrb5's own service side. A caller's realm is the one in the ticket, which the KDC has written, not that of the
// authenticator, which the caller has written. A replayed token is recognized by its whole authenticator. Keys of other services in the
// keytab are not used. A caller of another realm whose ticket came through third realms is refused unless a KDC has checked them.
type Acceptor struct {
	path  string
	keys  *keytab.Keytab
	seen  *Seen
	names []string
}

// NewAcceptor reads the keys of a service from a keytab, those of service/HOST for any host. It uses AES keys only. Seen outlives
// acceptors, so that no token is accepted twice when the keytab is read again.
func NewAcceptor(path, service string, seen *Seen) (*Acceptor, error) {
	all, err := loadKeytab(path)
	if err != nil {
		return nil, err
	}
	a := &Acceptor{path: path, seen: seen, keys: keytab.New()}
	for _, e := range all.Entries {
		c := e.Principal.Components
		if len(c) != 2 || c[0] != service || !isAES(e.Key.KeyType) {
			continue
		}
		a.keys.Entries = append(a.keys.Entries, e)
		if name := written(c, e.Principal.Realm); !slices.Contains(a.names, name) {
			a.names = append(a.names, name)
		}
	}
	if len(a.names) == 0 {
		return nil, fmt.Errorf("keytab %s has no key of AES of a principal %s/HOST (%d keys of others): export that of the name by which callers reach this service", path, service, len(all.Entries))
	}
	return a, nil
}

// Names returns the principals for which callers may request tickets.
func (a *Acceptor) Names() []string { return a.names }

func isAES(id int32) bool {
	return slices.Contains([]int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA384_192, etypeID.AES128_CTS_HMAC_SHA256_128}, id)
}

// written returns a principal in the syntax of MIT's programs: a backslash before each /, @ and \ of a name.
func written(components []string, realm string) string {
	escape := strings.NewReplacer(`\`, `\\`, `/`, `\/`, `@`, `\@`)
	var b strings.Builder
	for i, c := range components {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(escape.Replace(c))
	}
	return b.String() + "@" + realm
}

// Accept checks a token from the address host:port, and returns its sender, user@REALM, and the token to answer with. Errors wrap
// ErrRefused, and ErrSkew or ErrSeen if those are the reason.
func (a *Acceptor) Accept(token []byte, from string) (principal string, reply []byte, err error) {
	defer func() {
		if recover() != nil { // of gokrb5, whose parsers trust lengths
			principal, reply, err = "", nil, fmt.Errorf("%w: it is damaged", ErrRefused)
		}
	}()
	n, err := parseNegotiation(token)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var req messages.APReq
	if err := req.Unmarshal(n.request); err != nil {
		return "", nil, fmt.Errorf("%w: it has no request of Kerberos", ErrRefused)
	}
	if principal, err = a.verify(&req, from); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if reply, err = n.reply(&req); err != nil {
		return "", nil, fmt.Errorf("%w: its answer: %w", ErrRefused, err)
	}
	return principal, reply, nil
}

// verify checks a request against the keys, the clock and earlier requests.
func (a *Acceptor) verify(req *messages.APReq, from string) (string, error) {
	address, err := types.GetHostAddress(from)
	if err != nil {
		address = types.HostAddress{} // that no ticket contains
	}
	if ok, err := req.Verify(a.keys, Skew, address, nil); err != nil || !ok {
		return "", a.mistake(req, err)
	}
	t := &req.Ticket.DecryptedEncPart
	who := written(t.CName.NameString, t.CRealm)
	switch {
	case len(t.CName.NameString) == 0 || t.CRealm == "":
		return "", errors.New("its ticket has no client")
	case req.Authenticator.CRealm != t.CRealm:
		return "", fmt.Errorf("the realm of %s is another one in its authenticator", quoted(who))
	case t.CRealm != req.Ticket.Realm && len(t.Transited.Contents) > 0 && !types.IsFlagSet(&t.Flags, flags.TransitedPolicyChecked):
		return "", fmt.Errorf("%s came through other realms, which no KDC has checked", quoted(who))
	case !isAES(t.Key.KeyType):
		return "", fmt.Errorf("the session key is of encryption type %d: give the service a key of AES", t.Key.KeyType)
	}
	sum := sha256.Sum256(req.EncryptedAuthenticator.Cipher)
	return who, a.seen.first([16]byte(sum[:]), req.Authenticator.CTime, time.Now())
}

// mistake explains an error of gokrb5 to the operator of the service.
func (a *Acceptor) mistake(req *messages.APReq, err error) error {
	sname := written(req.Ticket.SName.NameString, req.Ticket.Realm)
	k, ok := errors.AsType[messages.KRBError](err)
	switch {
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_NOKEY || err != nil && strings.Contains(err.Error(), "matching key not found"):
		return fmt.Errorf("it is for %s with a key of version %d and encryption type %d, which is not in keytab %s: callers use another name of this host, or the keytab is old", quoted(sname),
			req.Ticket.EncPart.KVNO, req.Ticket.EncPart.EType, a.path)
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_SKEW:
		return ErrSkew
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_TKT_EXPIRED:
		return errors.New("its ticket has expired")
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_TKT_NYV:
		return fmt.Errorf("its ticket is not valid yet: %w", ErrSkew)
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_BADADDR:
		return errors.New("its ticket is for other addresses")
	case ok && k.ErrorCode == errorcode.KRB_AP_ERR_BADMATCH:
		return errors.New("its authenticator is of another than its ticket")
	}
	return fmt.Errorf("its ticket for %s cannot be decrypted: the keytab %s is of another key, or the token was changed", quoted(sname), a.path)
}

// quoted returns a name from others in the form for messages: quoted and shortened.
func quoted(name string) string {
	const most = 200
	return fmt.Sprintf("%q", name[:min(len(name), most)])
}

// Errors of replayed tokens.
var (
	// ErrSeen is the error of a token that was accepted before: each is for one request.
	ErrSeen = errors.New("it came before")
	// ErrManySeen is the error of a service that has accepted more tokens than it can remember.
	ErrManySeen = errors.New("more tokens were taken than are remembered")
)

// maxSeen is the number of tokens that are remembered: some 30 MB, 1,700 tokens a second.
const maxSeen = 1 << 19

// Seen remembers tokens for as long as they are valid, so that none is accepted twice. The zero value is ready. It is safe for concurrent
// use.
type Seen struct {
	mu    sync.Mutex
	byMin map[int64]map[[16]byte]struct{} // by the minute of their callers' clocks
	n     int
	most  int // 0: maxSeen
}

// first remembers a token. It returns an error if the token is known already. A token is forgotten only when it is too old to be valid.
func (s *Seen) first(token [16]byte, at, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byMin == nil {
		s.byMin = map[int64]map[[16]byte]struct{}{}
	}
	oldest := now.Add(-Skew-time.Minute).Unix() / 60
	for minute, tokens := range s.byMin {
		if minute < oldest {
			s.n -= len(tokens)
			delete(s.byMin, minute)
		}
	}
	minute := at.Unix() / 60
	tokens := s.byMin[minute]
	if _, ok := tokens[token]; ok {
		return ErrSeen
	}
	if s.n >= cmp.Or(s.most, maxSeen) {
		return ErrManySeen
	}
	if tokens == nil {
		tokens = map[[16]byte]struct{}{}
		s.byMin[minute] = tokens
	}
	tokens[token] = struct{}{}
	s.n++
	return nil
}
