package settings

import (
	"testing"
)

func TestMaskURLs(t *testing.T) {
	for in, want := range map[string]string{
		"http://host:9091/a":                     "http://host:9091/a",
		"https://tina:pw@host/a":                 "https://tina:***@host/a",
		"https://tina:p@w@host:1/a@b":            "https://tina:***@host:1/a@b",
		"http://user:pass/word@host":             "http://user:***@host",
		"http://user:1p/w@rd@host/a":             "http://user:***@host/a",
		"http://:p?w#d@host":                     "http://:***@host",
		"http://host:9091/a@b":                   "http://host:9091/a@b",
		"http://[::1]:9091/a@b":                  "http://[::1]:9091/a@b",
		"hdfs://host:/a@b":                       "hdfs://host:/a@b",
		"https://:pw@host":                       "https://:***@host",
		"https://abcdef@host/x":                  "https://***@host/x",
		"hdfs://tina@host:9000/x@y":              "hdfs://tina@host:9000/x@y",
		"hdfs://host:9000/a@b,hdfs://h:1/c":      "hdfs://host:9000/a@b,hdfs://h:1/c",
		"http://h/?token=x&a=b":                  "http://h/?token=***&a=b",
		"http://h/p?a=b&api_key=x#access_token=": "http://h/p?a=b&api_key=***#access_token=",
		"http://h/p?X-Amz-Signature=abc":         "http://h/p?X-Amz-Signature=***",
		"a b http://u:p@h c":                     "a b http://u:***@h c",
		"key=value":                              "key=value",
	} {
		if got := MaskURLs(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
