package kerberos

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Errors that callers distinguish.
var (
	// ErrUnknownService is the error of a service that the KDC does not know.
	ErrUnknownService = errors.New("the KDC does not know the service")
	// ErrNoKDC says that no KDC of a realm answers, or that its answer is damaged. A later attempt may succeed.
	ErrNoKDC = errors.New("no KDC of the realm answers")
	// ErrNotRenewed says that the ticket cache has just expired, or that the KDC refuses the keytab since. A later attempt succeeds if another
	// program renews it.
	ErrNotRenewed = errors.New("the login has not been renewed")
	// ErrExpired is ErrNotRenewed after a minute. It lasts until an operator acts.
	ErrExpired = errors.New("the login has expired")
	// ErrSkew says that clocks differ by more than Kerberos allows.
	ErrSkew = errors.New("the clocks of this host and the KDC or service differ by more than Kerberos allows, 5 minutes unless it is configured otherwise: synchronize them")
)

// mistake explains an error of a KDC to the operator of a job.
type mistake struct {
	code string // as named in RFC 4120 and in gokrb5's texts
	text string // %s: the principal or service
}

// errMistake is in the error of a login that the KDC refuses until an operator acts.
var errMistake = errors.New("the KDC refuses the login")

// mistakes lists the errors of a login.
var mistakes = []mistake{
	{"KDC_ERR_C_PRINCIPAL_UNKNOWN", "the KDC does not know the principal %s: check its name and realm"},
	{"KDC_ERR_PREAUTH_FAILED", "the KDC refuses the key of %s: the keytab is older than the principal's present key: export it again"},
	{"KRB_AP_ERR_BAD_INTEGRITY", "the key of %s does not fit: the keytab is older than the principal's present key: export it again"},
	{"integrity verification failed", "the key of %s does not fit: the keytab is older than the principal's present key: export it again"},
	{"matching key not found in keytab", "the keytab has no key of %s of the encryption type that the KDC uses: export it again"},
	{"KDC_ERR_CLIENT_REVOKED", "the principal %s is locked or has expired: ask who runs the realm"},
	{"KDC_ERR_NAME_EXP", "the principal %s has expired: ask who runs the realm"},
	{"KDC_ERR_KEY_EXPIRED", "the key of %s has expired: ask who runs the realm"},
	{"KDC_ERR_ETYPE_NOSUPP", "the KDC has no encryption type in common with %s: compare the keytab's types with permitted_enctypes"},
	{"KDC_ERR_POLICY", "the KDC's policy refuses %s"},
	{"KDC_ERR_WRONG_REALM", "the KDC refers %s to another realm: name the account as user@REALM of its own realm, whose KDC is under [realms]"},
	{"KDC_ERR_NEVER_VALID", "the KDC gives %s no ticket that would be valid: compare the clocks and ticket_lifetime"},
}

// noRealm matches the realm for which gokrb5 knows no KDC, from the file or from DNS.
var noRealm = regexp.MustCompile(`no KDC(?:s defined in configuration| SRV records found) for realm ([^\s.:)]+(?:\.[^\s.:)]+)*)|lookup _kerberos\._(?:tcp|udp)\.([^\s:]+?)\.?(?: on \S+)?: no such host`)

// find returns the first mistake whose code an error contains.
func find(err error) *mistake {
	for i := range mistakes {
		if strings.Contains(err.Error(), mistakes[i].code) {
			return &mistakes[i]
		}
	}
	return nil
}

func loginError(principal string, o Options, err error) error {
	text := err.Error()
	switch m := find(err); {
	case strings.Contains(text, "KRB_AP_ERR_SKEW") || strings.Contains(text, "clock skew"):
		return explained(err, "kerberos login of %s: %w", principal, ErrSkew)
	case m != nil:
		return explained(errors.Join(errMistake, err), "kerberos login: %s", fmt.Sprintf(m.text, principal))
	case noRealm.MatchString(text) || strings.Contains(text, "does not have any defined KDCs"):
		return explained(err, "kerberos login of %s: %s names no KDC of its realm, nor does DNS: add it under [realms]", principal, o.Config.Path)
	case away(text):
		return explained(err, "kerberos login of %s: %w: see kdc in %s", principal, ErrNoKDC, o.Config.Path)
	case damaged(err):
		return explained(err, "kerberos login of %s: %w: see kdc in %s", principal, errDamaged, o.Config.Path)
	}
	return fmt.Errorf("kerberos login of %s: %w", principal, err)
}

// explained returns an error with an explanation that replaces the library's text, which names its internals.
func explained(err error, format string, args ...any) error {
	return &explainedError{fmt.Errorf(format, args...), err}
}

type explainedError struct{ meaning, cause error }

func (e *explainedError) Error() string   { return e.meaning.Error() }
func (e *explainedError) Unwrap() []error { return []error{e.meaning, e.cause} }

// away reports whether an error text says that no KDC was reached.
func away(text string) bool {
	return slices.ContainsFunc([]string{"communication error with KDC", "failed to communicate with KDC", "error sending to a KDC"}, func(part string) bool { return strings.Contains(text, part) })
}

// ticketError explains why there is no ticket for a service.
func ticketError(service string, o Options, err error) error {
	text := err.Error()
	switch m := find(err); {
	case strings.Contains(text, "KDC_ERR_S_PRINCIPAL_UNKNOWN"):
		return explained(err, "ticket for %s: %w", service, ErrUnknownService)
	case noRealm.MatchString(text):
		realm := noRealm.FindStringSubmatch(text)
		return explained(err, "ticket for %s: %s names no KDC of the realm %s, nor does DNS: add it under [realms]", service, o.Config.Path,
			cmp.Or(realm[1], realm[2]))
	case strings.Contains(text, "maximum number of referrals"):
		return explained(err, "ticket for %s: the KDCs refer from realm to realm: see domain_realm in %s", service, o.Config.Path)
	case away(text):
		return explained(err, "ticket for %s: %w: see kdc in %s", service, ErrNoKDC, o.Config.Path)
	case damaged(err):
		return explained(err, "ticket for %s: %w: see kdc in %s", service, errDamaged, o.Config.Path)
	case strings.Contains(text, "KRB_AP_ERR_SKEW") || strings.Contains(text, "clock skew"):
		return explained(err, "ticket for %s: %w", service, ErrSkew)
	case strings.Contains(text, "KRB_AP_ERR_TKT_EXPIRED") || strings.Contains(text, "no valid existing session") || strings.Contains(text, "neither a keytab nor a password"):
		if o.Keytab == "" {
			return explained(err, "ticket for %s: the tickets of the cache have expired: run kinit, or use a keytab", service)
		}
	case m != nil:
		return explained(err, "ticket for %s: %s", service, fmt.Sprintf(m.text, service))
	}
	return fmt.Errorf("ticket for %s: %w", service, err)
}
