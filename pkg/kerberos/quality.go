package kerberos

import (
	"fmt"
	"slices"
	"strings"
)

// Quality is the quality of protection of a connection. Its values are the bits of RFC 4752.
type Quality byte

// Qualities, as Hadoop's configuration names them.
const (
	Authentication Quality = 1 // the peer is authenticated; data is in the clear and can be altered
	Integrity      Quality = 2 // data can be read, but not altered
	Privacy        Quality = 4 // data can be neither read nor altered
)

// Qualities returns all qualities, the strongest first.
func Qualities() []Quality { return []Quality{Privacy, Integrity, Authentication} }

func (q Quality) String() string {
	switch q {
	case Authentication:
		return "authentication"
	case Integrity:
		return "integrity"
	case Privacy:
		return "privacy"
	}
	return fmt.Sprintf("quality %d", byte(q))
}

// QOP returns the quality's name in DIGEST-MD5 (RFC 2831).
func (q Quality) QOP() string {
	switch q {
	case Integrity:
		return "auth-int"
	case Privacy:
		return "auth-conf"
	}
	return "auth"
}

// ParseQualities parses a list in the syntax of hadoop.rpc.protection: privacy,integrity. An empty text gives an empty list: any.
func ParseQualities(text string) ([]Quality, error) {
	var list []Quality
	for name := range strings.SplitSeq(text, ",") {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "":
		case "authentication", "auth":
			list = append(list, Authentication)
		case "integrity", "auth-int":
			list = append(list, Integrity)
		case "privacy", "auth-conf":
			list = append(list, Privacy)
		default:
			return nil, fmt.Errorf("%q is invalid: want authentication, integrity or privacy", name)
		}
	}
	return list, nil
}

// MismatchError is the error of two sides without a common quality.
type MismatchError struct {
	Offered []Quality // by the server
	Wanted  []Quality // by the configuration
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the server offers %s, the configuration asks for %s", names(e.Offered), names(e.Wanted))
}

func names(list []Quality) string {
	var all []string
	for _, q := range list {
		all = append(all, q.String())
	}
	if len(all) == 0 {
		return "nothing that is known"
	}
	return strings.Join(all, ", ")
}

// ChooseQuality returns the first wanted quality that is offered, or the strongest offered one if none is wanted in particular.
func ChooseQuality(offered Quality, wanted []Quality) (Quality, error) {
	from := wanted
	if len(from) == 0 {
		from = Qualities()
	}
	for _, q := range from {
		if offered&q != 0 {
			return q, nil
		}
	}
	var list []Quality
	for _, q := range slices.Backward(Qualities()) {
		if offered&q != 0 {
			list = append(list, q)
		}
	}
	return 0, &MismatchError{list, wanted}
}

// Token is a delegation token of Hadoop. Its password must not be printed.
type Token struct {
	Identifier []byte
	Password   []byte
	Kind       string
	Service    string
}
