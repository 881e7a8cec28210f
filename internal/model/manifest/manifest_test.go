package manifest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

var update = flag.Bool("update", false, "write testdata/sealed.json again")

// sealedName is the file with the text of golden, as it is stored next to the files.
const sealedName = "testdata/sealed.json"

// golden returns a manifest with every field.
func golden() *Manifest {
	return &Manifest{Schema: 1, Table: "ns:check", Tables: []string{"hbase:ns:old"}, Key: "salt(id, 2) + id", Modulus: 2, Family: "f", Timestamp: 1_700_000_000_000, Columns: []string{"id", "名称"},
		Cells: []spec.CellName{{Family: "f", Qualifier: "id"}, {Family: "g", Qualifier: "<q>"}}, Records: 12, Rejected: 1, RejectFile: "rejects.jsonl",
		Duplicates: 2, Joined: 3, NoCells: 4, Digest: Digest{Rows: 5, Cells: 9, Sum: math.MaxUint64 - 1}, RowSum: "0123456789abcdef0123456789abcdef", Wide: true, Stamped: true,
		Times: &CellTimes{Min: -1, Max: 1_700_000_000_001, Expires: 1_800_000_000_000}, Bytes: 3000, SpillBytes: 77, Runs: 3, ReadTime: 5 * time.Second, WriteTime: 7, HFiles: 2,
		Files: []File{
			{Name: "f/00112233445566778899aabbccddeeff", Family: "f", FirstRow: rowkey.Key("0\x00\xff"), LastRow: rowkey.Key(`0"\`), Rows: 2, Cells: 4, Bytes: 1000, CRC32C: math.MaxUint32, FileID: math.MaxUint64},
			{Name: "f/ffeeddccbbaa99887766554433221100", Family: "f", Region: 1, FirstRow: rowkey.Key("1a"), LastRow: rowkey.Key("1z"), Rows: 3, Cells: 5, Bytes: 2000},
		}}
}

// store writes a manifest's text into a directory of a file system.
func store(t testing.TB, fsys hdfsio.FS, dir string, text []byte) {
	t.Helper()
	testcheck.Must(t, fsys.MkdirAll(t.Context(), dir, 0o755))
	testcheck.Must(t, fsys.RemoveAll(t.Context(), dir+"/"+FileName))
	w, err := fsys.Create(t.Context(), dir+"/"+FileName, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(text)
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
}

// readText reads a manifest from a text.
func readText(t testing.TB, text []byte) (*Manifest, error) {
	t.Helper()
	m := hdfsio.NewMemory()
	store(t, m, "/out", text)
	return Read(t.Context(), m, "/out")
}

// TestGolden checks that the text of a manifest, which other programs read, is unchanged to the byte, and is read back equal.
func TestGolden(t *testing.T) {
	text, err := Seal(golden())
	testcheck.Must(t, err)
	if *update {
		testcheck.Must(t, os.WriteFile(sealedName, text, 0o644))
	}
	want, err := os.ReadFile(sealedName)
	testcheck.Must(t, err)
	if d := cmp.Diff(string(want), string(text)); d != "" {
		t.Errorf("%s (-is +would be):\n%s", sealedName, d)
	}
	got, err := readText(t, want)
	testcheck.Must(t, err)
	if d := cmp.Diff(golden(), got); d != "" {
		t.Errorf("it is read as (-was +is):\n%s", d)
	}
}

// drawManifest returns a random consistent manifest.
func drawManifest(r *rand.Rand) *Manifest {
	text := func() string {
		letters := []rune("abc:_ \"\\<>&\u2028中é\x00\n%")
		s := make([]rune, r.IntN(9))
		for i := range s {
			s[i] = letters[r.IntN(len(letters))]
		}
		return string(s)
	}
	row := func() rowkey.Key {
		k := make([]byte, 1+r.IntN(20))
		for i := range k {
			k[i] = byte(r.Uint32())
		}
		return k
	}
	m := &Manifest{Schema: 1, Table: text(), Key: text(), Modulus: r.IntN(100), Family: text(), Timestamp: r.Int64(), Records: r.Int64(), Rejected: r.Int64(), RejectFile: text(),
		Duplicates: r.Int64(), Joined: r.Int64(), NoCells: r.Int64(), RowSum: text(), Wide: r.IntN(2) == 0, Stamped: r.IntN(2) == 0, SpillBytes: r.Int64(), Runs: r.Int64(),
		ReadTime: time.Duration(r.Int64()), WriteTime: time.Duration(r.Int64()), HFiles: r.IntN(5), Digest: Digest{Sum: r.Uint64()}}
	for range r.IntN(4) {
		m.Columns = append(m.Columns, text())
		m.Cells = append(m.Cells, spec.CellName{Family: text(), Qualifier: text()})
	}
	if r.IntN(2) == 0 {
		m.Times = &CellTimes{Min: -r.Int64(), Max: r.Int64(), Expires: r.Int64()}
	}
	for i := range m.HFiles {
		f := File{Name: text(), Family: m.Family, Region: i, FirstRow: row(), LastRow: row(), Rows: int64(r.IntN(1000)), Cells: int64(r.IntN(1000)), Bytes: int64(r.IntN(1000)), CRC32C: r.Uint32(), FileID: r.Uint64()}
		m.Files = append(m.Files, f)
		m.Digest.Rows += f.Rows
		m.Digest.Cells += f.Cells
		m.Bytes += f.Bytes
	}
	return m
}

// TestReadsBack checks that a written manifest is read back equal, and is written again with the same text.
func TestReadsBack(t *testing.T) {
	r := testcheck.Rand(t)
	for range 500 {
		m := drawManifest(r)
		text, err := Seal(m)
		testcheck.Must(t, err)
		got, err := readText(t, text)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if d := cmp.Diff(m, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("it is read as (-was +is):\n%s", d)
		}
		again, err := Seal(got)
		testcheck.Must(t, err)
		if !bytes.Equal(again, text) {
			t.Fatalf("once more it is\n%s, it was\n%s", again, text)
		}
	}
}

// TestDamage checks that a manifest with one changed byte is refused, with its directory and the remedy, or has the same contents.
func TestDamage(t *testing.T) {
	r := testcheck.Rand(t)
	text, err := Seal(golden())
	testcheck.Must(t, err)
	for i := range text {
		bad := bytes.Clone(text)
		for bad[i] == text[i] {
			bad[i] = byte(r.Uint32())
		}
		got, err := readText(t, bad)
		if err == nil && cmp.Equal(golden(), got) {
			continue // white space, or an equivalent escape
		}
		if err == nil {
			t.Fatalf("byte %d may be %q instead of %q:\n%s", i, bad[i], text[i], cmp.Diff(golden(), got))
		}
		if !strings.Contains(err.Error(), FileName+" in /out") {
			t.Fatalf("byte %d: the error does not say where: %v", i, err)
		}
	}
	for n := range len(text) - 1 {
		if _, err := readText(t, text[:n]); n < len(text)-2 && (err == nil || !strings.Contains(err.Error(), FileName+" in /out")) {
			t.Fatalf("cut behind byte %d: %v", n, err)
		}
	}
}

// TestChanged checks that changed values are refused, and that ReadUnchecked reads them.
func TestChanged(t *testing.T) {
	text, err := Seal(golden())
	testcheck.Must(t, err)
	for from, to := range map[string]string{
		`"modulus": 2`: `"modulus": 3`, `"timestamp": 1700000000000`: `"timestamp": 1700000000001`, `"rows": 3`: `"rows": 4`, `"checksum": "xxh64:`: `"checksum": "xxh64:f`,
		`"f/ffeeddccbbaa99887766554433221100"`: `"f/ffeeddccbbaa99887766554433221101"`, `"sum": "18446744073709551614"`: `"sum": "18446744073709551615"`,
		`"records": 12,`: `"records": 12, "note": "edited",`,
	} {
		if !bytes.Contains(text, []byte(from)) {
			t.Fatalf("no %s in\n%s", from, text)
		}
		changed := bytes.Replace(text, []byte(from), []byte(to), 1)
		_, err := readText(t, changed)
		if !errors.Is(err, errChanged) || !strings.Contains(err.Error(), FileName+" in /out") {
			t.Errorf("%s for %s: %v", to, from, err)
		}
		if names := setting.Of(err); len(names) != 1 || names[0] != setting.TrustFiles {
			t.Errorf("%s for %s: it names %v", to, from, names)
		}
		m := hdfsio.NewMemory()
		store(t, m, "/out", changed)
		if got, err := ReadUnchecked(t.Context(), m, "/out"); err != nil || got.Key != golden().Key || len(got.Files) != 2 {
			t.Errorf("unchecked, %s for %s: %+v %v", to, from, got, err)
		}
	}
}

// TestOtherForms checks that manifests without a checksum, with other white space and field order, or with fields of a later version are read, and
// another schema is not.
func TestOtherForms(t *testing.T) {
	for what, text := range map[string]string{
		"without a checksum": `{"schema":1,"key":"id","modulus":2,"family":"f","timestamp":7,"columns":["id"],"digest":{"rows":1,"cells":1,"sum":"5"},"bytes":9,"hfiles":1,` +
			`"files":[{"name":"f/00","family":"f","first_row":"a\\x00","last_row":"a\\x00","rows":1,"cells":1,"bytes":9}]}`,
		"with unknown fields": `{"schema":1,"key":"id","modulus":2,"family":"f","timestamp":7,"columns":["id"],"digest":{"rows":1,"cells":1,"sum":"5","later":{}},"bytes":9,"hfiles":1,` +
			`"files":[{"name":"f/00","family":"f","first_row":"a\\x00","last_row":"a\\x00","rows":1,"cells":1,"bytes":9,"later":[1]}],"later":"x"}`,
		"with keys of an early version": `{"schema":1,"key":"id","modulus":2,"family":"f","timestamp":7,"columns":["id"],"digest":{"rows":1,"cells":1,"sum":"5"},"bytes":9,"hfiles":1,` +
			`"files":[{"name":"f/00","family":"f","first_row":"a\\x0a\\,\\\\","last_row":"a\\x0a\\,\\\\","rows":1,"cells":1,"bytes":9}]}`,
	} {
		row := "a\x00"
		if strings.Contains(what, "early") {
			row = "a\n,\\"
		}
		got, err := readText(t, []byte(text))
		want := &Manifest{Schema: 1, Key: "id", Modulus: 2, Family: "f", Timestamp: 7, Columns: []string{"id"}, Digest: Digest{Rows: 1, Cells: 1, Sum: 5}, Bytes: 9, HFiles: 1,
			Files: []File{{Name: "f/00", Family: "f", FirstRow: rowkey.Key(row), LastRow: rowkey.Key(row), Rows: 1, Cells: 1, Bytes: 9}}}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got)\n%s", what, err, d)
		}
	}
	for text, want := range map[string]string{
		`{"schema":2}`: "schema 2 is not known to this version", `{}`: "schema 0 is not known", `{"schema":"1"}`: "schema", `[]`: "array", ``: "unexpected end of JSON input",
		`{"schema":1,"digest":{"sum":5}}`: "unquoted value", `{"schema":1,"files":[{"first_row":"\\x0"}]}`: `row key "\\x0"`,
	} {
		if _, err := readText(t, []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), FileName+" in /out") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestSealedInAnotherForm checks that white space and the order of fields do not count as changes.
func TestSealedInAnotherForm(t *testing.T) {
	text, err := Seal(golden())
	testcheck.Must(t, err)
	stored, computed, err := sums(text)
	if err != nil || stored == "" || stored != computed {
		t.Fatalf("%q, %q, %v", stored, computed, err)
	}
	compact := strings.ReplaceAll(strings.ReplaceAll(string(text), "\n", ""), "  ", "")
	turned := fmt.Sprintf(`{"checksum":%q,%s`, stored, strings.Replace(compact[1:], fmt.Sprintf(`,"checksum": %q`, stored), "", 1))
	for what, form := range map[string]string{"compact": compact, "the checksum first": turned} {
		if got, err := readText(t, []byte(form)); err != nil || !cmp.Equal(golden(), got) {
			t.Errorf("%s: %v\n%s", what, err, form)
		}
	}
}

// TestNoManifest checks the error for a directory without a manifest.
func TestNoManifest(t *testing.T) {
	m := hdfsio.NewMemory()
	testcheck.Must(t, m.MkdirAll(t.Context(), "/out", 0o755))
	for _, read := range []func() (*Manifest, error){
		func() (*Manifest, error) { return Read(t.Context(), m, "/out") },
		func() (*Manifest, error) { return ReadUnchecked(t.Context(), m, "/out") },
	} {
		if _, err := read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// TestInconsistent checks that totals that do not match the files are refused, even with a correct checksum.
func TestInconsistent(t *testing.T) {
	for what, change := range map[string]func(*Manifest){
		"rows":         func(m *Manifest) { m.Digest.Rows++ },
		"cells":        func(m *Manifest) { m.Digest.Cells-- },
		"bytes":        func(m *Manifest) { m.Bytes++ },
		"files":        func(m *Manifest) { m.HFiles++ },
		"a file's":     func(m *Manifest) { m.Files[1].Cells++ },
		"a file less":  func(m *Manifest) { m.Files = m.Files[:1] },
		"a file twice": func(m *Manifest) { m.Files[1] = m.Files[0] },
	} {
		m := golden()
		change(m)
		text, err := Seal(m)
		testcheck.Must(t, err)
		if _, err := readText(t, text); !errors.Is(err, errChanged) || !strings.Contains(err.Error(), "but its list of files has") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m := golden() // a row has cells in some families only
	m.Files[1].Family, m.Digest.Rows = "g", 4
	text, err := Seal(m)
	testcheck.Must(t, err)
	if _, err := readText(t, text); err != nil {
		t.Errorf("rows of two families: %v", err)
	}
}

// TestSplits checks that files of several families are between the returned split points, and that regions without files have none.
func TestSplits(t *testing.T) {
	file := func(region int, first string) File { return File{Region: region, FirstRow: rowkey.Key(first)} }
	for _, c := range []struct {
		files []File
		want  string
	}{
		{nil, "[]"},
		{[]File{file(3, "x")}, "[]"},
		{[]File{file(0, "a"), file(0, "b"), file(2, "m\x00"), file(2, "m"), file(5, "t"), file(5, "u")}, `["m" "t"]`},
	} {
		if got := fmt.Sprintf("%q", (&Manifest{Files: c.files}).Splits()); got != c.want {
			t.Errorf("%v: %s, want %s", c.files, got, c.want)
		}
	}
}
