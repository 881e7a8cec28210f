package rowkey

import (
	"encoding/json"
	"testing"
)

// TestKeyReadsItsOlderText checks that texts of earlier versions in plans and manifests are still read, and are written
// in HBase's form.
func TestKeyReadsItsOlderText(t *testing.T) {
	for text, want := range map[string]string{
		`a\,b`: "a,b", `a\\x41`: `a\x41`, `\xaa\x0A\\\,`: "\xaa\n\\,", `a,b`: "a,b", `\x5Cx41`: `\x41`, "": "",
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var k, again Key
		if err := json.Unmarshal(quoted, &k); err != nil || string(k) != want {
			t.Errorf("%s reads as %q, %v", text, k, err)
		}
		now, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(now, &again); err != nil || string(again) != want {
			t.Errorf("%q is written as %s, which reads as %q, %v", k, now, again, err)
		}
	}
	if text, _ := (Key("a,\\\xaa")).MarshalText(); string(text) != `a,\x5C\xAA` {
		t.Errorf("%s", text)
	}
	for _, text := range []string{`\`, `\n`, `\x1`} {
		if err := new(Key).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestKeysAndRows(t *testing.T) {
	rows := [][]byte{[]byte("a"), {}, {0, 0xff}}
	keys := Keys(rows)
	back := Rows(keys)
	if len(keys) != len(rows) || len(back) != len(rows) {
		t.Fatalf("%d keys, %d rows", len(keys), len(back))
	}
	for i := range rows {
		if string(keys[i]) != string(rows[i]) || string(back[i]) != string(rows[i]) {
			t.Errorf("%d: %q, %q, want %q", i, keys[i], back[i], rows[i])
		}
	}
	if Keys(nil) != nil || Rows(nil) != nil {
		t.Error("none are not nil")
	}
}
