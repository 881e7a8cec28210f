package kerberos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"

	"bulkload/internal/test/testcheck"
)

// TestNewestKey checks that the key version with the latest time is used, and of equal times the one with the highest number.
func TestNewestKey(t *testing.T) {
	type version struct {
		at   time.Time
		kvno uint8
	}
	old, now := time.Unix(1_700_000_000, 0), time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		keys []version
		want int
	}{
		"one second, the old key first":  {[]version{{now, 3}, {now, 4}}, 4},
		"one second, the new key first":  {[]version{{now, 4}, {now, 3}}, 4},
		"without a time, as ktpass":      {[]version{{time.Unix(0, 0), 7}, {time.Unix(0, 0), 9}, {time.Unix(0, 0), 8}}, 9},
		"another time counts before all": {[]version{{now, 1}, {old, 12}}, 1},
	} {
		kt := keytab.New()
		for _, v := range c.keys {
			testcheck.Must(t, kt.AddEntry("etl", ours, string(rune('a'+v.kvno)), v.at, v.kvno, etypeID.AES256_CTS_HMAC_SHA1_96))
		}
		b, err := kt.Marshal()
		testcheck.Must(t, err)
		path := filepath.Join(t.TempDir(), "etl.keytab")
		testcheck.Must(t, os.WriteFile(path, b, 0o600))
		read, err := loadKeytab(path)
		testcheck.Must(t, err)
		_, kvno, err := read.GetEncryptionKey(types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "etl"), ours, 0, etypeID.AES256_CTS_HMAC_SHA1_96)
		if err != nil || kvno != c.want {
			t.Errorf("%s: key %d, %v, want %d", name, kvno, err, c.want)
		}
	}
}

// TestDamagedKeytab cuts a keytab at each of its bytes, as a copy does that is stopped: an error says that it is damaged, without any of its bytes.
func TestDamagedKeytab(t *testing.T) {
	const secret = "a password"
	kt := keytab.New()
	for kvno := range uint8(2) {
		testcheck.Must(t, kt.AddEntry("etl", ours, secret, time.Unix(1_800_000_000, 0), kvno+1, etypeID.AES256_CTS_HMAC_SHA1_96))
	}
	whole, err := kt.Marshal()
	testcheck.Must(t, err)
	path := filepath.Join(t.TempDir(), "etl.keytab")
	failed := 0
	for n := range whole {
		testcheck.Must(t, os.WriteFile(path, whole[:n], 0o600))
		read, err := loadKeytab(path)
		if err == nil {
			continue
		}
		failed++
		if want := fmt.Sprintf("keytab %s: its %d bytes are no keytab, or damaged: export it again (klist -k shows its keys)", path, n); read != nil || err.Error() != want {
			t.Errorf("of %d bytes: %q, want %q", n, err, want)
		}
	}
	if failed < len(whole)/2 {
		t.Errorf("of %d cuts %d are errors", len(whole), failed)
	}
}
