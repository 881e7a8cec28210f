package hfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckGolden checks that Check finds no errors in HBase's own files, and
// that it finds a wrong entry of the file info.
func TestCheckGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		b, err := os.ReadFile(filepath.Join(goldenDir, c.name+".hfile"))
		if err != nil {
			t.Fatal(err)
		}
		res := Check(bytes.NewReader(b), int64(len(b)), CheckOptions{Name: c.name, Probes: 1000})
		if !res.OK || res.Entries != int64(len(readCells(t, c.input))) || res.Seeks != min(checkSample, int(res.Entries-res.DuplicateKeys)) {
			t.Errorf("%+v", res)
		}
	}
	o := Options{Encoding: EncodingFastDiff, Bloom: BloomRow, Checksum: ChecksumNone}
	b := writeFile(t, o, readCells(t, "chinese"))
	at := bytes.Index(b, []byte(infoDeleteCount))
	b[at+len(infoDeleteCount)+9] = 7
	if res := Check(bytes.NewReader(b), int64(len(b)), CheckOptions{}); res.OK || len(res.Errors) != 1 || !strings.Contains(res.Errors[0], infoDeleteCount) {
		t.Errorf("a wrong count: %+v", res)
	}
}

func TestPlainTimeRange(t *testing.T) {
	raw := []byte{0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 1, 0}
	for _, v := range [][]byte{raw, append(bytes.Clone(raw), make([]byte, 16)...), []byte("PBUF\x08\x05\x10\x80\x02")} {
		if got := plainTimeRange(v); !bytes.Equal(got, raw) {
			t.Errorf("%x gives %x", v, got)
		}
	}
	for _, v := range [][]byte{nil, []byte("PBUF\x0b"), raw[:15], append(bytes.Clone(raw), raw...)} {
		if got := plainTimeRange(v); !bytes.Equal(got, v) {
			t.Errorf("%x gives %x", v, got)
		}
	}
}
