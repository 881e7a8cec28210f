package charset

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// TestEBCDIC compares every byte of the mainframes' code pages with Python's codecs, by the digest of the result, and with x/text for the page
// without a codec in Python.
func TestEBCDIC(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	want, err := charmap.CodePage1047.NewDecoder().Bytes(all)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(want)
	for name, python := range map[string]string{
		"cp037":  "5324efcff066d6ba174bc227a54630f79aba8afd2a473959f92bbfc140ffdb57",
		"cp500":  "1fc831a58bad8d736d5a8af673097ef196c284a740c68c54a4c2cd7891dd26e4",
		"cp1140": "b762cd7f5def57eb4b56baaf03f2c3b2e4f8e2fca94480ab1683779d9208d3f3",
		"cp1047": hex.EncodeToString(sum[:]),
	} {
		c := mustLookup(t, name)
		got, bad := c.Append(nil, all)
		if sum := sha256.Sum256(got); bad >= 0 || hex.EncodeToString(sum[:]) != python || c.Safe() != 0 {
			t.Errorf("%s: bad %d, %x: %q", name, bad, sum, got)
		}
	}
	c := mustLookup(t, "IBM-037")
	if got, bad := c.Append([]byte("x"), []byte("\xc8\xc5\xd3\xd3\xd6\x6b\x40\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7")); string(got) != "xHELLO, 01234567" || bad >= 0 {
		t.Errorf("%q, %d", got, bad)
	}
}
