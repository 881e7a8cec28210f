package deliver

import (
	"errors"
	"net/url"
	"strings"
)

// Target is a server's address, with its secrets kept separately. It prints without them.
type Target struct {
	address  string // without user and query
	query    string
	user     string
	password string
}

// ParseTarget parses an http or https address, which may have a user and a password. The error does not repeat the
// address.
func ParseTarget(address string) (Target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return Target{}, errors.New("it is not an address of the form http://host:port or https://host:port")
	}
	t := Target{query: u.RawQuery, user: u.User.Username()}
	t.password, _ = u.User.Password()
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	t.address = u.String()
	return t, nil
}

// IsAddress reports whether a word is a server's address rather than a file name.
func IsAddress(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// String returns the address without user, password and query.
func (t Target) String() string { return t.address }

// Query returns the query, without the question mark.
func (t Target) Query() string { return t.query }

// User returns the user and password; ok is false if there are none.
func (t Target) User() (name, password string, ok bool) {
	return t.user, t.password, t.user != "" || t.password != ""
}

// Join returns the address with a path appended.
func (t Target) Join(path string) Target {
	t.address = strings.TrimRight(t.address, "/") + "/" + strings.TrimLeft(path, "/")
	return t
}

// HasPath reports whether the address has a path besides the server.
func (t Target) HasPath() bool {
	u, err := url.Parse(t.address)
	return err == nil && strings.Trim(u.Path, "/") != ""
}
