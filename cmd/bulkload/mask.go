package main

import (
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// secretFlag marks a flag whose value is never shown.
const secretFlag = "bulkload_secret"

// masked stands for what is not shown.
const masked = "***"

// markSecret says that the values of flags are never shown.
func markSecret(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if flag := f.Lookup(name); flag != nil {
			if flag.Annotations == nil {
				flag.Annotations = map[string][]string{}
			}
			flag.Annotations[secretFlag] = []string{"true"}
		}
	}
}

// secret says whether a flag's value may not be shown: those that are marked,
// and those whose name says so.
func secret(f *pflag.Flag) bool {
	for _, word := range []string{"password", "passwd", "secret", "token", "credential"} {
		if strings.Contains(f.Name, word) {
			return true
		}
	}
	return f.Annotations[secretFlag] != nil
}

// What in a URL is secret: a password, a name alone before the host of a web
// server, which is a token then, and what the query says of keys and tokens.
var (
	urlPassword = regexp.MustCompile(`://([^/\s:@?#]*):[^/\s?#]*@`)
	urlToken    = regexp.MustCompile(`(https?://)[^/\s:@?#]+@`)
	urlQuery    = regexp.MustCompile(`(?i)([?&#;][^=&\s]*(?:token|password|passwd|pwd|secret|signature|credential|key|auth|sig)[^=&\s]*=)[^&#;\s]+`)
)

// maskURLs hides what is secret in the URLs of a text.
func maskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "://$1:"+masked+"@")
	text = urlToken.ReplaceAllString(text, "${1}"+masked+"@")
	return urlQuery.ReplaceAllString(text, "${1}"+masked)
}
