package compression

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// pythonMembers prints texts of each length and their packed form by Python's own modules, in hexadecimal.
const pythonMembers = `
import bz2, gzip, lzma, random, zlib
random.seed(%d)
for n in list(range(1, 40)) + [5000, 70000]:
    text = bytes(random.choices(b"abc,\n", k=n))
    for name, packed in (("gz", gzip.compress(text)), ("bz2", bz2.compress(text)), ("deflate", zlib.compress(text)),
            ("xz", lzma.compress(text)), ("xz", lzma.compress(text, check=lzma.CHECK_SHA256, preset=0)), ("xz", lzma.compress(text, check=lzma.CHECK_NONE, preset=0))):
        print(name, text.hex(), packed.hex())
`

// TestMembersOfPython checks that data that Python packs are read: alone, twice, with NUL bytes behind them, and cut
// off.
func TestMembersOfPython(t *testing.T) {
	if testing.Short() {
		t.Skip("needs python3, which -short leaves out")
	}
	r := testcheck.Rand(t)
	out, err := exec.Command("python3", "-c", fmt.Sprintf(pythonMembers, r.IntN(1<<30))).Output()
	testcheck.Must(t, err)
	members := 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		text, err := hex.DecodeString(f[1])
		testcheck.Must(t, err)
		packed, err := hex.DecodeString(f[2])
		testcheck.Must(t, err)
		members++
		twice := append(bytes.Clone(packed), packed...)
		if got, err := unpack(t, f[0], twice, plainly); err != nil || !bytes.Equal(got, append(bytes.Clone(text), text...)) {
			t.Errorf("%s of %d bytes, twice: %d bytes, %v", f[0], len(text), len(got), err)
		}
		if f[0] == "gz" || f[0] == "bz2" { // a stream of bzip2 ends at any bit
			for _, behind := range [][]byte{{0}, append([]byte{0}, packed...)} {
				if got, err := unpack(t, f[0], append(bytes.Clone(packed), behind...), plainly); err != nil || !bytes.HasPrefix(got, text) || len(got) != len(text)*min(len(behind), 2) {
					t.Errorf("%s of %d bytes and a NUL byte: %d bytes, %v", f[0], len(text), len(got), err)
				}
			}
		}
		cut := packed[:1+r.IntN(len(packed)-1)]
		for _, data := range [][]byte{cut, append(bytes.Clone(cut), 0)} {
			if bytes.Equal(data, packed) { // the last byte is NUL
				continue
			}
			if got, err := unpack(t, f[0], data, plainly); err == nil || err == io.EOF || len(data) == len(cut) && !bytes.HasPrefix(text, got) {
				t.Errorf("%s, %d of %d bytes: %d bytes, %v", f[0], len(data), len(packed), len(got), err)
			}
		}
	}
	if members != 41*6 || lines.Err() != nil {
		t.Errorf("%d members, %v", members, lines.Err())
	}
}
