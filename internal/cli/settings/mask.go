package settings

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// secretFlag marks a flag whose value is never shown.
const secretFlag = "bulkload_secret"

// Masked stands for what is not shown.
const Masked = "***"

// MarkSecret says that the values of flags are never shown.
func MarkSecret(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if flag := f.Lookup(name); flag != nil {
			if flag.Annotations == nil {
				flag.Annotations = map[string][]string{}
			}
			flag.Annotations[secretFlag] = []string{"true"}
		}
	}
}

// Secret reports whether a flag's value may not be shown: those that are marked,
// and those whose name says so.
func Secret(f *pflag.Flag) bool { return SecretName(f.Name) || f.Annotations[secretFlag] != nil }

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
