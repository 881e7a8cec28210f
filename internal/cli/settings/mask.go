package settings

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Masked stands for what is not shown.
const Masked = "***"

// Secret reports whether a flag's value may not be shown: its name says so.
func Secret(f *pflag.Flag) bool { return SecretName(f.Name) }

// SecretName reports whether the name of a flag or a column says that its values are secret.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "passwd", "secret", "token", "credential"}, func(word string) bool { return strings.Contains(name, word) })
}

// What in a URL is secret: a password, a name alone before the host of a web
// server, which is a token then, and what the query says of keys and tokens.
var (
	urlPassword = regexp.MustCompile(`://([^/\s:@?#]*):[^/\s?#]*@`)
	urlToken    = regexp.MustCompile(`(https?://)[^/\s:@?#]+@`)
	urlQuery    = regexp.MustCompile(`(?i)([?&#;][^=&\s]*(?:token|password|passwd|pwd|secret|signature|credential|key|auth|sig)[^=&\s]*=)[^&#;\s]+`)
)

// MaskURLs hides what is secret in the URLs of a text.
func MaskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "://$1:"+Masked+"@")
	text = urlToken.ReplaceAllString(text, "${1}"+Masked+"@")
	return urlQuery.ReplaceAllString(text, "${1}"+Masked)
}
