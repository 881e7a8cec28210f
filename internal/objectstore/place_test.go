package objectstore

import (
	"strings"
	"testing"
)

// TestParse checks valid names, and that names with credentials or without a valid path are refused; no message has a
// credential.
func TestParse(t *testing.T) {
	for name, want := range map[string]string{
		"s3://b/a/b.csv":                         "s3://b/a/b.csv",
		"s3a://b/a/":                             "s3://b/a",
		"S3://b":                                 "s3://b/",
		"gs://b/%41 +#?ü/*.gz":                   "gs://b/%41 +#?ü/*.gz",
		"oss://b/x":                              "oss://b/x",
		"obs://b/x":                              "obs://b/x",
		"abfs://c@acc/x":                         "abfs://c@acc/x",
		"abfss://c@acc.dfs.core.windows.net/x/y": "abfs://c@acc.dfs.core.windows.net/x/y",
	} {
		if !IsName(name) {
			t.Errorf("%s is not a name", name)
		}
		if p, err := Parse(name); err != nil || p.String() != want {
			t.Errorf("%s is %s, %v; want %s", name, p, err, want)
		}
	}
	for name, want := range map[string]string{
		"s3://key:secret@b/x":         "credentials come from the environment",
		"abfs://c:secret@acc/x":       "credentials come from the environment",
		"s3://user@b/x":               "a bucket's name has no @",
		"s3:///x":                     "it names no bucket",
		"s3://b*/x":                   "is not the name of a bucket",
		"s3://b/a//x":                 "cannot be named as a path",
		"s3://b/a/../x":               "cannot be named as a path",
		"abfs://acc/x":                "want abfs://CONTAINER@ACCOUNT",
		"s3://AKIA:secret@b?x=secret": "credentials come from the environment",
	} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"/a/b", "hdfs://h/a", "a", "s3:/a", "snapshot:x", "./s3"} {
		if IsName(name) {
			t.Errorf("%s is a name", name)
		}
	}
}

// TestParseEndpoints checks valid addresses, and that addresses with credentials are refused.
func TestParseEndpoints(t *testing.T) {
	all, err := ParseEndpoints([]string{"s3=https://host:9000/?region=eu-1&style=virtual", "gs=http://127.0.0.1:1?credentials=none", "oss=http://s3.oss-cn-hangzhou.aliyuncs.com"})
	if err != nil {
		t.Fatal(err)
	}
	if e := all[kindS3]; e.base("b").String() != "https://b.host:9000" || e.region != "eu-1" || e.open() {
		t.Errorf("%+v", e)
	}
	if e := all[kindGCS]; !e.anonymous || e.open() {
		t.Errorf("%+v", e)
	}
	if e := all[kindOSS]; e.base("b").String() != "http://b.s3.oss-cn-hangzhou.aliyuncs.com" || !e.open() || regionOf(e.url.Host) != "cn-hangzhou" {
		t.Errorf("%+v", e)
	}
	for text, want := range map[string]string{
		"https://h":                      "want SCHEME=URL",
		"ftp=https://h":                  "want SCHEME=URL",
		"s3=h:1":                         "want a URL",
		"s3=ftp://h":                     "want a URL",
		"s3=https://key:secret@h":        "credentials do not belong",
		"s3=https://h?secret=x":          "is not known",
		"s3=https://h?style=other":       "is not known",
		"s3=https://h?credentials=basic": "is not known",
	} {
		if _, err := ParseEndpoints([]string{text}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "key:secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseEndpoints([]string{"s3=https://a", "s3a=https://b"}); err == nil {
		t.Error("two of one protocol")
	}
	for host, want := range map[string]string{"s3.eu-west-1.amazonaws.com": "eu-west-1", "b.s3.cn-north-1.amazonaws.com.cn": "cn-north-1", "obs.cn-north-4.myhuaweicloud.com": "cn-north-4",
		"oss-cn-beijing-internal.aliyuncs.com": "cn-beijing", "minio.example.org": "", "s3.amazonaws.com": ""} {
		if got := regionOf(host); got != want {
			t.Errorf("%s is in %q, want %q", host, got, want)
		}
	}
}
