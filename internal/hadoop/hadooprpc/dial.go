package hadooprpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/sasl"
	"bulkload/pkg/kerberos"
)

// Options are the settings of a login at a server.
type Options struct {
	// Kerberos is the login. Token takes precedence.
	Kerberos *kerberos.Client
	// Principal is the server's principal in the form of the configuration: nn/_HOST@REALM. Required with Kerberos.
	Principal string
	// PrincipalKey is the configuration key of Principal, for errors.
	PrincipalKey string
	// Pattern, if it is not empty, is a glob of the servers that are accepted in place of Principal: of the name that a server gives itself, with its
	// realm, such as nn/*@EXAMPLE.COM. Its configuration key is that of Principal with .pattern.
	Pattern string
	// Token is a delegation token for the server; it may be nil.
	Token *kerberos.Token
	// Qualities are the configured qualities of protection, the preferred one first. None: the strongest that the
	// server offers.
	Qualities []kerberos.Quality
	// QualityKey is the configuration key of Qualities, for errors.
	QualityKey string
	// Protocol is the name of the protocol to use, such as
	// org.apache.hadoop.hdfs.protocol.ClientProtocol. Required.
	Protocol string
}

// ErrSimple reports a server that requires no login although Kerberos is configured.
var ErrSimple = errors.New("the server uses simple authentication, the configuration asks for Kerberos: set hadoop.security.authentication to simple, if this is the right cluster")

// PrincipalError reports a server that the configuration names by another principal than its own, or by one that the KDC does not know. Retrying
// does not help.
type PrincipalError struct {
	Key string // the configuration key of the principal
	Err error
}

func (e *PrincipalError) Error() string { return fmt.Sprintf("%v (%s)", e.Err, e.Key) }
func (e *PrincipalError) Unwrap() error { return e.Err }

// Final reports whether a login cannot succeed however often it is tried: the configurations of both sides do not match, the KDC does not know
// the service, or the login has expired.
func Final(err error) bool {
	_, mismatch := errors.AsType[*kerberos.MismatchError](err)
	_, principal := errors.AsType[*PrincipalError](err)
	return mismatch || principal || errors.Is(err, ErrSimple) || errors.Is(err, kerberos.ErrUnknownService) || errors.Is(err, kerberos.ErrExpired)
}

// Dial logs in on a connection to a server with the given host name. It ends when the context ends. It closes the
// connection on failure.
func Dial(ctx context.Context, nc net.Conn, host string, o Options) (*Conn, error) {
	c, err := Within(ctx, nc, func() (*Conn, error) { return logIn(ctx, nc, host, o) })
	if err != nil {
		return nil, fmt.Errorf("login at %s: %w", nc.RemoteAddr(), err)
	}
	return c, nil
}

// Within runs a login on a connection, which ends when the context ends. It closes the connection on failure.
func Within[C any](ctx context.Context, nc net.Conn, logIn func() (C, error)) (none C, err error) {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	c, err := logIn()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return none, err
	}
	return c, nil
}

// Open starts a connection to a server with simple authentication, which does not verify the user.
func Open(nc net.Conn, user, protocol string) (*Conn, error) {
	c := &Conn{Conn: nc, client: make([]byte, 16)}
	rand.Read(c.client)
	begin := appendPacket([]byte(header+"\x00"), requestHeader(callContext, c.client), connectionContext(user, protocol))
	if _, err := nc.Write(begin); err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return c, nil
}

func logIn(ctx context.Context, nc net.Conn, host string, o Options) (*Conn, error) {
	c := &Conn{Conn: nc, client: make([]byte, 16)}
	rand.Read(c.client)
	if _, err := nc.Write(append([]byte(header+bySASL), c.saslPacket(&saslMessage{state: stateNegotiate})...)); err != nil {
		return nil, err
	}
	offer, err := c.readSASL()
	if err != nil {
		return nil, err
	}
	switch offer.state {
	case stateSuccess:
		return nil, ErrSimple
	case stateNegotiate:
	default:
		return nil, fmt.Errorf("the server answers %s, not NEGOTIATE", offer.state)
	}
	way, mechanism, user, err := choose(ctx, offer.logins, host, o)
	if err != nil {
		return nil, err
	}
	if err := c.converse(way, mechanism); err != nil {
		if _, refused := errors.AsType[*Error](err); refused {
			mechanism.Refused() // the next attempt has another ticket
		}
		if m, ok := errors.AsType[*kerberos.MismatchError](err); ok {
			return nil, fmt.Errorf("%w (%s)", m, o.QualityKey)
		}
		return nil, fmt.Errorf("%s: %w", way.method, err)
	}
	if layer := mechanism.Layer(); layer.Quality() != kerberos.Authentication {
		c.layer = layer
	}
	_, err = c.Write(appendPacket(nil, requestHeader(callContext, c.client), connectionContext(user, o.Protocol)))
	return c, err
}

// choose selects a login method that the server offers, and returns the acting user.
func choose(ctx context.Context, logins []login, host string, o Options) (way login, mechanism sasl.Client, user string, err error) {
	var offered []string
	for _, l := range logins {
		offered = append(offered, l.method)
		if l.method == "TOKEN" && l.mechanism == "DIGEST-MD5" && o.Token != nil {
			return l, sasl.DigestMD5(sasl.TokenCredentials(o.Token.Identifier, o.Token.Password), l.protocol, l.server, o.Qualities), "", nil
		}
	}
	for _, l := range logins {
		if l.method != "KERBEROS" || l.mechanism != "GSSAPI" || o.Kerberos == nil {
			continue
		}
		service, realm, err := o.service(host, l)
		if err != nil {
			return l, nil, "", err
		}
		s, token, err := o.Kerberos.Initiate(ctx, service, realm)
		if errors.Is(err, kerberos.ErrUnknownService) {
			err = &PrincipalError{o.PrincipalKey, err}
		}
		if err != nil {
			return l, nil, "", err
		}
		return l, sasl.GSSAPI(s, token, o.Qualities), o.Kerberos.Principal(), nil
	}
	switch {
	case slices.Contains(offered, simple):
		return way, nil, "", ErrSimple
	case o.Kerberos == nil && o.Token == nil:
		return way, nil, "", fmt.Errorf("the server offers %s, and there is neither a Kerberos login nor a token", strings.Join(offered, ", "))
	case o.Kerberos == nil:
		return way, nil, "", fmt.Errorf("the server offers %s, and there is a token alone", strings.Join(offered, ", "))
	}
	return way, nil, "", fmt.Errorf("the server offers %s, and there is a Kerberos login", strings.Join(offered, ", "))
}

// service returns the service of a server that offers a login, and its realm, as SaslRpcClient.getServerPrincipal of Hadoop 3.4.
func (o Options) service(host string, l login) (service, realm string, err error) {
	own := l.protocol + "/" + l.server
	if o.Pattern != "" && l.server != "" {
		realm = o.Kerberos.Realm(l.server)
		if fits, err := globbed(o.Pattern, own+"@"+realm); err != nil || !fits {
			return "", "", &PrincipalError{o.PrincipalKey + ".pattern", cmp.Or(err, fmt.Errorf("the server is %s@%s, which %s does not fit", own, realm, o.Pattern))}
		}
		return own, realm, nil
	}
	service, realm, err = Service(o.Principal, host)
	switch {
	case err != nil:
		err = &PrincipalError{o.PrincipalKey, fmt.Errorf("%w: it says that it is %s", err, own)}
	case l.server != "" && !strings.EqualFold(own, service):
		err = &PrincipalError{o.PrincipalKey, fmt.Errorf("the server says that it is %s, the configuration says %s", own, service)}
	}
	return service, realm, err
}

// globbed reports whether a text matches a pattern as GlobPattern of Hadoop 3.4: * and ? match a slash too, {a,b} is one of several, [a-c] a set, and a
// backslash escapes. A comma outside of braces is a comma.
func globbed(pattern, text string) (bool, error) {
	var b strings.Builder
	braces, set := 0, false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		part := pattern[i : i+1]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			part = pattern[i-1 : i+1]
		case strings.IndexByte(".$()|+", c) >= 0 || c == '^' && !set:
			part = `\` + part
		case c == '*':
			part = ".*"
		case c == '?':
			part = "."
		case c == '{':
			braces++
			part = "(?:"
		case c == ',' && braces > 0:
			part = "|"
		case c == '}' && braces > 0:
			braces--
			part = ")"
		case c == '[' && set:
			return false, fmt.Errorf("the pattern %s is not a glob", pattern)
		case c == '[' || c == ']':
			set = c == '['
		case c == '!' && set && pattern[i-1] == '[':
			part = "^"
		}
		b.WriteString(part)
	}
	r, err := regexp.Compile("^(?s:" + b.String() + ")$")
	if err != nil {
		return false, fmt.Errorf("the pattern %s is not a glob", pattern)
	}
	return r.MatchString(text), nil
}

// Service returns the service on a host for a principal such as nn/_HOST@REALM, and the principal's realm, which may
// be empty.
func Service(principal, host string) (service, realm string, err error) {
	name, realm, _ := strings.Cut(principal, "@")
	kind, of, ok := strings.Cut(name, "/")
	switch {
	case principal == "":
		return "", "", errors.New("the server's Kerberos principal is not known")
	case !ok || kind == "" || of == "":
		return "", "", fmt.Errorf("the server's Kerberos principal %s is not of the form NAME/HOST@REALM", principal)
	case of == "_HOST":
		of = strings.ToLower(host)
	}
	return kind + "/" + of, realm, nil
}

func (c *Conn) converse(way login, mechanism sasl.Client) error {
	response, err := mechanism.Step(way.challenge)
	if err != nil {
		return err
	}
	way.challenge = nil
	if _, err := c.Conn.Write(c.saslPacket(&saslMessage{stateInitiate, response, []login{way}})); err != nil {
		return err
	}
	for range 8 {
		m, err := c.readSASL()
		if err != nil {
			return err
		}
		switch m.state {
		case stateChallenge:
			response, err := mechanism.Step(m.token)
			if err != nil {
				return err
			}
			if _, err := c.Conn.Write(c.saslPacket(&saslMessage{state: stateResponse, token: response})); err != nil {
				return err
			}
		case stateSuccess:
			if !mechanism.Done() {
				if _, err := mechanism.Step(m.token); err != nil {
					return err
				}
			}
			if !mechanism.Done() {
				return errors.New("the server ends the login before it has proven itself")
			}
			return nil
		default:
			return fmt.Errorf("the server answers %s in a login", m.state)
		}
	}
	return errors.New("the login does not end")
}

func (c *Conn) saslPacket(m *saslMessage) []byte {
	return appendPacket(nil, requestHeader(callSASL, nil), m.append(nil))
}

func (c *Conn) readSASL() (m saslMessage, err error) {
	packet, err := readPacket(c.Conn, nil, 1<<20)
	if err != nil {
		return m, err
	}
	a, err := parseAnswer(packet)
	if err != nil {
		return m, err
	}
	return a.sasl()
}

// sasl returns the SASL message in an answer.
func (a answer) sasl() (m saslMessage, err error) {
	if a.call != callSASL {
		return m, fmt.Errorf("the server answers call %d in place of SASL", a.call)
	}
	body, n := protowire.ConsumeBytes(a.body)
	if n < 0 {
		return m, errors.New("a message of SASL is malformed")
	}
	return parseSASL(body)
}

// simple is the method without authentication (SaslRpcServer.AuthMethod, Hadoop 3.4).
const simple = "SIMPLE"

// Offers queries a server's login methods, such as KERBEROS and TOKEN; none if it does not require
// authentication. It closes the connection.
func Offers(ctx context.Context, nc net.Conn) (methods []string, err error) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := &Conn{Conn: nc}
	if _, err := nc.Write(append([]byte(header+bySASL), c.saslPacket(&saslMessage{state: stateNegotiate})...)); err != nil {
		return nil, err
	}
	m, err := c.readSASL()
	if err != nil {
		return nil, fmt.Errorf("ask %s how to log in: %w", nc.RemoteAddr(), err)
	}
	if m.state == stateSuccess {
		return nil, nil
	}
	for _, l := range m.logins {
		if l.method == simple {
			return nil, nil // tokens may be offered as well
		}
		methods = append(methods, l.method)
	}
	return methods, nil
}
