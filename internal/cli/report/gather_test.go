package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
)

// TestWithoutQuotes checks that quoted values of a reason are left out.
func TestWithoutQuotes(t *testing.T) {
	for in, want := range map[string]string{
		`"12x" is not a number`: `"…" is not a number`, `it has "a \"b\" c" and "d"`: `it has "…" and "…"`, `no quote`: `no quote`, `an "open one`: `an "…"`,
		`"x\`: `"…"`, ``: ``, `""`: `"…"`,
	} {
		if got := withoutQuotes(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestReadRejects checks that the first bad records are read, all are counted, and data are left out unless
// requested.
func TestReadRejects(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rejects.jsonl")
	text := `{"path":"a.csv","offset":7,"record":2,"column":"id","reason":"\"12x\" is not a number","raw":"12x,` + strings.Repeat("ä", 200) + `"}` + "\n" +
		`{"path":"a.csv","offset":9,"record":1,"since":4,"reason":"short","raw_base64":"/wA="}` + "\n" + strings.Repeat(`{"path":"b","offset":1,"record":1,"reason":"r","raw":""}`+"\n", 30)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, all, err := readRejects(name, false, false)
	if err != nil || all != 32 || len(list) != maxRejects {
		t.Fatalf("%d of %d, %v", len(list), all, err)
	}
	if want := (reject{Place: "a.csv: record 2 at byte 7", Column: "id", Reason: `"…" is not a number`}); list[0] != want {
		t.Errorf("%+v", list[0])
	}
	list, _, err = readRejects(name, true, false)
	if err != nil || !strings.HasPrefix(list[0].Record, "12x,ää") || len(list[0].Record) > maxReject+4 || list[1].Record != `\xFF\x00` || list[1].Place != "a.csv: record 1 after byte 4, at byte 9" {
		t.Errorf("%+v, %v", list[:2], err)
	}
	if _, _, err := readRejects(name+"x", false, false); err == nil {
		t.Error("no error about a file that is not there")
	}
}

// TestPlacesOfRejects checks that a place names a byte only where the format has one, as the messages of the command do.
func TestPlacesOfRejects(t *testing.T) {
	form, err := json.Marshal(rejects.Form{Version: 1, Format: "text", Columns: []string{"id"}, Dialect: rejects.ValuesDialect(), Values: true})
	testcheck.Must(t, err)
	alike, err := json.Marshal(rejects.Form{Version: 1, Format: "text", Columns: []string{"id"}, Dialect: rejects.ValuesDialect()})
	testcheck.Must(t, err)
	values := string(form) + "\n"
	text := `{"path":"a.csv","offset":7,"record":2,"reason":"r","raw":""}` + "\n" + values + `{"path":"b.parquet","offset":4,"record":5,"reason":"r","raw":""}` + "\n" +
		`{"path":"c.avro","offset":300,"record":5,"since":300,"reason":"r","raw":""}` + "\n" + `{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["id"]}` + "\n" +
		`{"path":"d.csv","offset":90,"record":5,"since":30,"reason":"r","raw":""}` + "\n" +
		string(alike) + "\n" + `{"path":"e.csv","offset":9,"record":2,"reason":"r","raw":""}` + "\n"
	name := filepath.Join(t.TempDir(), "rejects.jsonl")
	testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
	for again, want := range map[bool][]string{
		false: {"a.csv: record 2 at byte 7", "b.parquet: record 5", "c.avro: record 5 of the block at byte 300", "d.csv: record 5 after byte 30, at byte 90", "e.csv: record 2 at byte 9"},
		true:  {"a.csv: record 2", "b.parquet: record 5", "c.avro: record 5", "d.csv: record 5", "e.csv: record 2"}, // of reject files, whose records have no byte in a file
	} {
		list, _, err := readRejects(name, false, again)
		testcheck.Must(t, err)
		var places []string
		for _, r := range list {
			places = append(places, r.Place)
		}
		if !slices.Equal(places, want) {
			t.Errorf("reject files %t: %q", again, places)
		}
	}
}

// TestRegionList checks that regions without files are kept, and that regions of unknown split points are not named by
// their first rows: a report has no row keys.
func TestRegionList(t *testing.T) {
	written := map[int]region{}
	files := []manifest.File{{Region: 0, FirstRow: rowkey.Key("a"), Rows: 2, Bytes: 5}, {Region: 2, FirstRow: rowkey.Key("m\x00"), Rows: 3, Bytes: 7}, {Region: 2, FirstRow: rowkey.Key("n"), Family: "g", Rows: 2, Bytes: 1}}
	for _, f := range files {
		addFile(written, f.Region, f.Rows, f.Bytes)
	}
	list := regionList(written, 4, [][]byte{[]byte("f"), []byte("k"), {0xff}})
	if len(list) != 4 || list[0].Start != "" || list[1].Start != "f" || list[1].Files != 0 || list[2] != (region{Start: "k", Rows: 3, Bytes: 8, Files: 2}) || list[3].Start != `\xFF` {
		t.Errorf("%+v", list)
	}
	list = regionList(written, 1, nil)
	if len(list) != 3 || list[0].Start != "" || list[2] != (region{Rows: 3, Bytes: 8, Files: 2}) {
		t.Errorf("%+v", list)
	}
	if all := newSpread(list).Regions; all[0].Name != "the start" || all[2].Name != "(not shown)" {
		t.Errorf("%+v", all)
	}
	if regionList(nil, 3, nil) != nil {
		t.Error("regions of a run that wrote none")
	}
}

// TestReportOfParts checks the totals of several directories, and the list of those that this run worked on.
func TestReportOfParts(t *testing.T) {
	w := newReporter(Options{Spec: spec.Spec{Inputs: []string{"hdfs:///exports/"}}, Tracker: &progress.Tracker{}})
	for part := range 3 {
		all := progress.Tee(w.options.Tracker.Events(), w.Events())
		all.OnStart(progress.Start{Part: part + 1, Parts: 5, Regions: 2})
		all.OnPhase("read")
		all.OnRows(10, 100)
		for range 2 { // families
			all.OnHFile(progress.HFile{Region: 1, Rows: 7, Bytes: 5})
			all.OnHFile(progress.HFile{Region: 2, Rows: 7, Bytes: 5}) // of a further table
		}
		if got := w.sample(); got.Read != int64(10*(part+1)) || got.Input != int64(100*(part+1)) {
			t.Errorf("sample of part %d: %+v", part+1, got)
		}
	}
	w.endPart()
	if got := w.regions[1]; got != (region{Rows: 21, Bytes: 30, Files: 6}) {
		t.Errorf("region: %+v", got)
	}
	if len(w.regions) != 1 {
		t.Errorf("regions: %+v", w.regions)
	}
	began := time.Unix(1e9, 0)
	parts := []result.Part{{Input: "hdfs:///exports/a", Status: result.PartAlready, Files: 2, Bytes: 5, Rows: 1000, Written: 1000},
		{Input: "hdfs:///exports/b", Status: result.PartDone, Began: began, Elapsed: time.Second, Files: 1, Bytes: 7, Rows: 3, Written: 9, Rejected: 2},
		{Input: "hdfs:///exports/c", Status: result.PartFailed, Began: began, Elapsed: time.Second, Files: 1, Bytes: 8}, {Input: "hdfs:///exports/d", Status: result.PartLeft, Files: 1}}
	var r document
	w.addParts(&r, parts)
	if want := "4 directories: 1 done, 1 done before, 1 failed, 1 pending"; r.PartsText != want || r.InputFiles != 5 || r.InputBytes != 20 {
		t.Errorf("%+v", r)
	}
	want := []part{{Input: "c", Status: "failed", Began: began}, {Input: "b", Status: "done", Began: began, Ended: began.Add(time.Second), Rows: 3, Bytes: 9, Rejected: 2}}
	if !slices.Equal(r.Parts, want) {
		t.Errorf("%+v", r.Parts)
	}
	if rows, input, written := result.Parts(parts).Done(); rows != 3 || input != 7 || written != 9 {
		t.Errorf("done now: %d rows, %d of %d bytes", rows, written, input)
	}
	r = document{}
	for range maxParts + 20 {
		parts = append(parts, parts[1])
	}
	w.addParts(&r, parts)
	if len(r.Parts) != maxParts || r.MoreParts != 22 || r.Parts[0].Status != "failed" {
		t.Errorf("%d parts and %d more", len(r.Parts), r.MoreParts)
	}
}

// TestCountsOfAFailedRun checks the records read by a run that failed in a later phase.
func TestCountsOfAFailedRun(t *testing.T) {
	w := newReporter(Options{})
	o := ending.Outcome{Progress: progress.Progress{Phases: []progress.PhaseProgress{
		{Name: "check", Done: progress.Amount{Bytes: 100}}, {Name: "read", Done: progress.Amount{Rows: 10}}, {Name: "write", Done: progress.Amount{Rows: 4}}}}}
	var r document
	if w.addCounts(&r, o); r.Counts == nil || r.Counts.Records != 10 {
		t.Errorf("%+v", r.Counts)
	}
}
