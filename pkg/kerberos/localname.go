package kerberos

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// LocalNames holds Hadoop's rules for mapping principals to user names (hadoop.security.auth_to_local, interpreted as by KerberosName of
// hadoop-auth 3.4). The zero value has none. It may be used by several goroutines.
type LocalNames struct {
	rules []localRule
	realm string
}

// localRule is DEFAULT, or RULE:[parts:format](match)s/from/to/g, followed by /L for lower case.
type localRule struct {
	text     string
	standard bool   // DEFAULT: principals of one part, or of two, of the default realm
	parts    int    // of the principal without its realm
	format   string // with $0 for the realm, $1 and $2 for the parts
	match    *string
	from     *string // nil: the formatted name is the result
	to       string
	all      bool
	lower    bool
}

// ErrLocalRule is the error of a rule that is malformed, or cannot be applied.
var ErrLocalRule = errors.New("rule of hadoop.security.auth_to_local")

// localForm matches a rule at the beginning of a text. Rules may follow each other with or without space.
var localForm = regexp.MustCompile(`^\s*(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](\(([^)]*)\))?(s/([^/]*)/([^/]*)/(g?))?)(?:/?(L))?`)

// ParseLocalNames reads the rules of a configuration. Realm is the default realm.
func ParseLocalNames(rules, realm string) (LocalNames, error) {
	l := LocalNames{realm: realm}
	for rest := strings.TrimSpace(rules); strings.TrimSpace(rest) != ""; {
		m := localForm.FindStringSubmatchIndex(rest)
		if m == nil {
			word, _, _ := strings.Cut(rest, " ")
			return LocalNames{}, fmt.Errorf("%w %d, %q, is not RULE:[n:format](regex)s/from/to/", ErrLocalRule, len(l.rules)+1, word)
		}
		group := func(i int) *string {
			if m[2*i] < 0 {
				return nil
			}
			s := rest[m[2*i]:m[2*i+1]]
			return &s
		}
		r := localRule{text: strings.TrimSpace(rest[:m[1]]), standard: group(1) != nil, lower: group(10) != nil}
		if !r.standard {
			n, err := strconv.Atoi(*group(2))
			if err != nil {
				return LocalNames{}, fmt.Errorf("%w %d, %s, does not say for how many parts it is", ErrLocalRule, len(l.rules)+1, r.text)
			}
			r.parts, r.format, r.match = n, *group(3), group(5)
			if r.from = group(7); r.from != nil {
				r.to, r.all = *group(8), *group(9) == "g"
			}
		}
		l.rules = append(l.rules, r)
		rest = rest[m[1]:]
	}
	return l, nil
}

// Name returns the user name of a principal: the result of the first rule that applies. Ok is false if none does, and only the cluster
// knows the name. The error is about a rule that would have to be applied and cannot be.
func (l LocalNames) Name(principal string) (name string, ok bool, err error) {
	user, realm, hasRealm := strings.Cut(principal, "@")
	first, second, two := strings.Cut(user, "/")
	if !two && !hasRealm {
		return first, true, nil
	}
	params := []string{realm, first}
	if two {
		params = append(params, second)
	}
	for _, r := range l.rules {
		name, applies, err := r.apply(params, l.realm)
		if err != nil {
			return "", false, fmt.Errorf("%w %s: %w", ErrLocalRule, r.text, err)
		}
		if applies {
			return name, true, nil
		}
	}
	return "", false, nil
}

func (r localRule) apply(params []string, realm string) (name string, applies bool, err error) {
	switch {
	case r.standard && params[0] == realm:
		name = params[1]
	case r.standard || len(params)-1 != r.parts:
		return "", false, nil
	default:
		if name, err = formatted(r.format, params); err != nil {
			return "", false, err
		}
		if r.match != nil {
			whole, err := regexp.Compile(`^(?:` + *r.match + `)$`)
			if err != nil {
				return "", false, unknownForm(err)
			}
			if !whole.MatchString(name) {
				return "", false, nil
			}
		}
		if name, err = r.replaced(name); err != nil {
			return "", false, err
		}
	}
	if strings.ContainsAny(name, "/@") {
		return "", false, errors.New("what it makes of the principal has a / or @ in it")
	}
	if r.lower {
		name = strings.ToLower(name)
	}
	return name, true, nil
}

// formatted replaces $0, $1, $2 by the realm and the parts.
func formatted(format string, params []string) (string, error) {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(format, "$")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n >= len(params) {
			return "", fmt.Errorf("$%s is not part of the principal", rest[:digits])
		}
		b.WriteString(params[n])
		format = rest[digits:]
	}
}

// replaced applies s/from/to/ like Java's Matcher.replaceFirst and replaceAll.
func (r localRule) replaced(name string) (string, error) {
	if r.from == nil {
		return name, nil
	}
	from, err := regexp.Compile(*r.from)
	if err != nil {
		return "", unknownForm(err)
	}
	n := 1
	if r.all {
		n = -1
	}
	var b strings.Builder
	at := 0
	for _, m := range from.FindAllStringSubmatchIndex(name, n) {
		b.WriteString(name[at:m[0]])
		if err := expand(&b, r.to, name, m, from); err != nil {
			return "", err
		}
		at = m[1]
	}
	b.WriteString(name[at:])
	return b.String(), nil
}

// expand appends a replacement: $n is a group number with as many digits as the number of groups allows, ${name} a named group, and \
// quotes the next character (java.util.regex.Matcher.appendReplacement, Java 17).
func expand(b *strings.Builder, to, name string, m []int, from *regexp.Regexp) error {
	group := func(i int) {
		if m[2*i] >= 0 {
			b.WriteString(name[m[2*i]:m[2*i+1]])
		}
	}
	for i := 0; i < len(to); i++ {
		switch {
		case to[i] == '\\' && i+1 < len(to):
			i++
			b.WriteByte(to[i])
		case to[i] == '\\' || to[i] == '$' && i+1 == len(to):
			return fmt.Errorf("its replacement ends with %c", to[i])
		case to[i] == '$' && to[i+1] == '{':
			end := strings.IndexByte(to[i:], '}')
			if end < 0 || from.SubexpIndex(to[i+2:i+end]) < 0 {
				return errors.New("its replacement names no group")
			}
			group(from.SubexpIndex(to[i+2 : i+end]))
			i += end
		case to[i] == '$':
			n := int(to[i+1]) - '0'
			if n < 0 || n > from.NumSubexp() {
				return errors.New("its replacement names no group")
			}
			for i++; i+1 < len(to) && to[i+1] >= '0' && to[i+1] <= '9'; i++ {
				next := n*10 + int(to[i+1]) - '0'
				if next > from.NumSubexp() {
					break
				}
				n = next
			}
			group(n)
		default:
			b.WriteByte(to[i])
		}
	}
	return nil
}

func unknownForm(err error) error {
	return fmt.Errorf("this program does not know this form of regular expression, or it is none (%w): write one without lookaround and backreferences", err)
}
