package table

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

func TestAdvise(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       AdviceOptions
		key     string
		regions int
		splits  string
		reason  string
	}{
		{"small", AdviceOptions{Bytes: gib}, "", 5, "", "5 to 10 regions"},
		{"49 GiB", AdviceOptions{Bytes: 49 * gib}, "md5hex(a) + a", 10, "hex:10", "evenly"},
		{"100 GiB", AdviceOptions{Bytes: 100 * gib}, "salt(a) + a", 15, "salt:15", "6 to 8 GiB"},
		{"byte salt", AdviceOptions{Bytes: 100 * gib}, "bytesalt(a, 50) + a", 50, "bytesalt:50", "the key's salt has 50"},
		{"Java's salt", AdviceOptions{Bytes: 100 * gib}, "javasalt(a, 16) + a", 31, "javasalt:16", "the key's salt has 31 values, so the table gets 31 regions"},
		{"fixed salt", AdviceOptions{Bytes: 100 * gib}, "salt(a, 50) + a", 50, "salt:50", "the key's salt has 50"},
		{"wide salt", AdviceOptions{Bytes: 100 * gib}, "salt(a, 1000000) + a", 15, "", "has 1000000 values, more than a table has regions: bulkload plan `suggest` 15"},
		{"widest salt", AdviceOptions{Bytes: 100 * gib}, "salt(a, 1000000000) + a", 15, "", "`suggest` 15"},
		{"early splits", AdviceOptions{Bytes: 100 * gib, MaxFileSize: 3 * gib}, "md5shift(a) + a", 67, "md5:67", "half of that"},
		{"large", AdviceOptions{Bytes: 900 * gib, MaxFileSize: 20 * gib}, "sha1raw(a) + a", 90, "uniform:90", "regions of 10 GiB"},
		{"huge", AdviceOptions{Bytes: 5000 * gib, MaxFileSize: 100 * gib}, "a", 120, "", "`suggest` 120"},
		{"growth", AdviceOptions{Growth: gib, Days: 100}, "", 15, "", "0 B now and 1.0 GiB a day for 100 days"},
		{"throughput", AdviceOptions{Bytes: gib, Servers: 20, Access: AccessThroughput}, "", 40, "", "at least two"},
		{"servers", AdviceOptions{Bytes: gib, Servers: 20}, "", 20, "", "no fewer than"},
		{"scans", AdviceOptions{Bytes: 100 * gib, Access: AccessScan, MaxFileSize: 40 * gib}, "", 7, "", "fewer boundaries"},
		{"scans on many", AdviceOptions{Bytes: gib, Servers: 20, Access: AccessScan}, "", 5, "", ""},
		{"room to split", AdviceOptions{Bytes: 49 * gib, MaxFileSize: 5 * gib}, "", 14, "", "70 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.key != "" {
				var err error
				if c.o.Key, err = keygen.Parse(c.key); err != nil {
					t.Fatal(err)
				}
			}
			a, err := Advise(c.o)
			if err != nil {
				t.Fatal(err)
			}
			if a.Regions != c.regions || a.Splits != c.splits || !strings.Contains(fmt.Sprint(a.Reasons), c.reason) {
				t.Errorf("%+v", a)
			}
		})
	}
	for _, o := range []AdviceOptions{{}, {Bytes: -1}, {Bytes: 1, Servers: -1}, {Bytes: 1, Access: "x"}, {Bytes: 1, Days: -1}, {Bytes: 1, MaxFileSize: 1}} {
		if a, err := Advise(o); fail.KindOf(err) != fail.Config {
			t.Errorf("%+v: %+v %v", o, a, err)
		}
	}
}

func TestShellStatement(t *testing.T) {
	spec := loader.TableSpec{
		Name:       loader.TableName{Namespace: "ns", Qualifier: "t"},
		Families:   []loader.Family{{Name: "f", Compression: "SNAPPY", TTL: loader.Forever}, {Name: "g", Versions: 3, BloomParam: "4"}},
		Attributes: map[string]string{"MAX_FILESIZE": "100"}, Configuration: map[string]string{"k": "it's"},
		SplitKeys: [][]byte{[]byte("a"), {'b', 0, 0xff}, []byte(`c"#{x}\'`)},
	}
	const want = `create 'ns:t',
  {NAME => 'f', COMPRESSION => 'SNAPPY', TTL => 'FOREVER'},
  {NAME => 'g', VERSIONS => '3', CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '4'}},
  {MAX_FILESIZE => '100', CONFIGURATION => {'k' => "it's"}},
  SPLITS => ['a', 'b\x00\xFF', 'c"#{x}\x5C\x27']`
	if got := Statement(spec); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
