package build

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"

	"github.com/hamba/avro/v2/ocf"
)

// TestJSONAndAvroGiveTheSameFiles builds check from a dump and from the same rows as JSON lines and as Avro, in splits of
// several sizes and by several workers.
func TestJSONAndAvroGiveTheSameFiles(t *testing.T) {
	env := jobtest.Env(t)
	dump := jobtest.Export(t, "check.dump")
	lines, records := jsonAndAvro(t, jobtest.Export(t, "check.csv"))
	for _, empty := range []string{"skip", "store"} {
		var first map[string]string
		for _, c := range []struct {
			path    string
			format  source.Format
			workers int
			split   int64
		}{{dump, source.FormatDump, 1, 0}, {lines, source.FormatJSON, 2, 64 << 10}, {lines, source.FormatJSON, 7, 5000}, {records, source.FormatAvro, 2, 64 << 10}, {records, source.FormatAvro, 7, 999}} {
			s := jobtest.Spec(t, "check")
			s.Inputs, s.Empty, s.Timestamp = []string{c.path}, empty, 1700000000000
			out := t.TempDir()
			m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{Workers: c.workers, SplitSize: c.split})
			if err != nil {
				t.Fatalf("%s: %v", c.format, err)
			}
			want := jobtest.DigestLine(t, "check", empty)
			if got := fmt.Sprintf("rows=%d cells=%d sha256=%s", m.Digest.Rows, m.Digest.Cells, scanDigest(t, out, m)); got != want {
				t.Errorf("%s, %s: %s, want %s", c.format, empty, got, want)
			}
			sums := jobtest.Hashes(t, out)
			if first == nil {
				first = sums
			} else if fmt.Sprint(sums) != fmt.Sprint(first) {
				t.Errorf("%s gives other files than a dump", c.format)
			}
		}
	}
}

// jsonAndAvro writes the rows of a CSV file in both formats.
func jsonAndAvro(t *testing.T, path string) (lines, records string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, name := range rows[0] {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":"string"}`, name))
	}
	var text, packed bytes.Buffer
	w, err := ocf.NewEncoder(fmt.Sprintf(`{"type":"record","name":"r","fields":[%s]}`, strings.Join(fields, ",")), &packed, ocf.WithCodec(ocf.Snappy), ocf.WithBlockLength(50))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		object := map[string]any{}
		for i, name := range rows[0] {
			object[name] = row[i]
		}
		line, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
		if err := w.Encode(object); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines, records = filepath.Join(dir, "check.jsonl"), filepath.Join(dir, "check.avro")
	for path, data := range map[string][]byte{lines: text.Bytes(), records: packed.Bytes()} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lines, records
}

// TestAlikeKeysOfAvroHaveAPlace checks that messages number the records of Avro, which have no offset.
func TestAlikeKeysOfAvroHaveAPlace(t *testing.T) {
	env := jobtest.Env(t)
	_, records := jsonAndAvro(t, writeText(t, "id,check_id\n1,a\n2,b\n1,c\n"))
	s := jobtest.CSVSpec(records)
	_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{})
	if err == nil || !strings.Contains(err.Error(), "check.avro, record 1 of the blocks from byte ") || !strings.Contains(err.Error(), "check.avro, record 3 of") {
		t.Errorf("%v", err)
	}
}

func writeText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
