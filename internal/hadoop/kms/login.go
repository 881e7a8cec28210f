package kms

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
)

// logIn adds the caller's credentials to a request: the token, otherwise Kerberos,
// otherwise the name.
func (c *Client) logIn(u *url.URL, r *http.Request) error {
	switch {
	case c.options.Token != nil:
		r.Header.Set("X-Hadoop-Delegation-Token", base64.RawURLEncoding.EncodeToString(hadooprpc.AppendWritable(nil, c.options.Token)))
	case c.options.Kerberos != nil:
		_, token, err := c.options.Kerberos.Initiate(r.Context(), "HTTP/"+strings.ToLower(u.Hostname()), "") // KerberosUtil.getServicePrincipal
		if errors.Is(err, kerberos.ErrUnknownService) {
			err = errors.Join(ErrLogin, err)
		}
		if err != nil {
			return fmt.Errorf("KMS %s://%s: %w", u.Scheme, u.Host, err)
		}
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(kerberos.NegTokenInit(token)))
	default:
		query := r.URL.Query()
		query.Set("user.name", c.options.User)
		r.URL.RawQuery = query.Encode()
	}
	return nil
}
