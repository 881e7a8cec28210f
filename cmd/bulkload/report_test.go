package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/report"
	"bulkload/pkg/job"
)

// TestWithoutQuotes leaves out what a reason quotes.
func TestWithoutQuotes(t *testing.T) {
	for in, want := range map[string]string{
		`"12x" is no number`: `"…" is no number`, `it has "a \"b\" c" and "d"`: `it has "…" and "…"`, `no quote`: `no quote`, `an "open one`: `an "…"`,
		`"x\`: `"…"`, ``: ``, `""`: `"…"`,
	} {
		if got := withoutQuotes(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestReadRejects takes the first bad records, counts all, and keeps data out unless it is asked for.
func TestReadRejects(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rejects.jsonl")
	text := `{"path":"a.csv","offset":7,"record":2,"column":"id","reason":"\"12x\" is no number","raw":"12x,` + strings.Repeat("ä", 200) + `"}` + "\n" +
		`{"path":"a.csv","offset":9,"record":1,"since":4,"reason":"short","raw_base64":"/wA="}` + "\n" + strings.Repeat(`{"path":"b","offset":1,"record":1,"reason":"r","raw":""}`+"\n", 30)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, all, err := readRejects(name, false)
	if err != nil || all != 32 || len(list) != mostRejects {
		t.Fatalf("%d of %d, %v", len(list), all, err)
	}
	if want := (report.Reject{Place: "a.csv: record 2 at byte 7", Column: "id", Reason: `"…" is no number`}); list[0] != want {
		t.Errorf("%+v", list[0])
	}
	list, _, err = readRejects(name, true)
	if err != nil || !strings.HasPrefix(list[0].Record, "12x,ää") || len(list[0].Record) > mostReject+4 || list[1].Record != `\xff\x00` || list[1].Place != "a.csv: record 1 after byte 4, at byte 9" {
		t.Errorf("%+v, %v", list[:2], err)
	}
	if _, _, err := readRejects(name+"x", false); err == nil {
		t.Error("no error about a file that is not there")
	}
}

// TestRegionList keeps regions without files, and names those of unknown split points by their first rows.
func TestRegionList(t *testing.T) {
	written := map[int]report.Region{}
	files := []job.File{{Region: 0, FirstRow: job.Key("a"), Rows: 2, Bytes: 5}, {Region: 2, FirstRow: job.Key("m\x00"), Rows: 3, Bytes: 7}, {Region: 2, FirstRow: job.Key("n"), Family: "g", Rows: 2, Bytes: 1}}
	for _, f := range files {
		addFile(written, f)
	}
	list := regionList(written, 4, [][]byte{[]byte("f"), []byte("k"), {0xff}}, files)
	if len(list) != 4 || list[0].Start != "" || list[1].Start != "f" || list[1].Files != 0 || list[2] != (report.Region{Start: "k", Rows: 3, Bytes: 8, Files: 2}) || list[3].Start != `\xff` {
		t.Errorf("%+v", list)
	}
	list = regionList(written, 1, nil, files)
	if len(list) != 3 || list[0].Start != "a" || list[1].Start != "" {
		t.Errorf("%+v", list)
	}
	if regionList(nil, 3, nil, nil) != nil {
		t.Error("regions of a run that wrote none")
	}
}
