package settings

import (
	"regexp"
	"slices"
	"strings"
)

// Masked replaces secret text.
const Masked = "***"

// SecretName reports whether the name of a flag or a column implies that its values are secret.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "passwd", "secret", "token", "credential"}, func(word string) bool { return strings.Contains(name, word) })
}

// Secrets in a URL: a password, also one with a character that a URL does not allow there (what is no port is a password), a user name without a password before a web server's host, which is a token, and keys
// and tokens in the query.
var (
	urlPassword = regexp.MustCompile(`://([^/\s:@?#]*):[^/\s?#]*@`)
	urlOddly    = regexp.MustCompile(`://([^/\s:@?#\[]*):[0-9]*[^/\s@?#0-9][^/\s@?#]*[/?#]\S*@`)
	urlToken    = regexp.MustCompile(`(https?://)[^/\s:@?#]+@`)
	urlQuery    = regexp.MustCompile(`(?i)([?&#;][^=&\s]*(?:token|password|passwd|pwd|secret|signature|credential|key|auth|sig)[^=&\s]*=)[^&#;\s]+`)
)

// MaskURLs masks the secrets in the URLs of a text.
func MaskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "://$1:"+Masked+"@")
	text = urlOddly.ReplaceAllString(text, "://$1:"+Masked+"@")
	text = urlToken.ReplaceAllString(text, "${1}"+Masked+"@")
	return urlQuery.ReplaceAllString(text, "${1}"+Masked)
}
