package rekey

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestFits checks that an existing table can hold all cells, or that the refusal
// names what it lacks.
func TestFits(t *testing.T) {
	table := func(families ...loader.Family) *loader.Table { return &loader.Table{Families: families} }
	old := table(loader.Family{Name: "f", Versions: 3, TTL: loader.Forever}, loader.Family{Name: "g", Versions: 1, TTL: 86400})
	more := table(loader.Family{Name: "f", Versions: 5, TTL: loader.Forever}, loader.Family{Name: "g", Versions: 1, TTL: 86400}, loader.Family{Name: "h"})
	less := table(loader.Family{Name: "f", Versions: 2, TTL: loader.Forever}, loader.Family{Name: "g", Versions: 1, TTL: 3600})
	kept := func(n string, ttl int64) *loader.Table {
		return table(loader.Family{Name: "f", Versions: 3, TTL: loader.Forever, Attributes: map[string]string{"MIN_VERSIONS": "1"}},
			loader.Family{Name: "g", Versions: 1, TTL: ttl, Attributes: map[string]string{"MIN_VERSIONS": n}})
	}
	for name, c := range map[string]struct {
		was     *loader.Table // old, when nil
		now     *loader.Table
		splits  string
		further bool
		says    string
	}{
		"the same":                     {nil, old, "", true, ""},
		"more":                         {nil, more, "", false, ""},
		"more, of a further pass":      {nil, more, "", true, "family f keeps more versions"},
		"less":                         {nil, less, "", false, "family f keeps fewer versions; family g has a shorter TTL"},
		"a family is missing":          {nil, table(old.Families[0]), "", false, "it has no family g"},
		"split points that it has":     {nil, old, "m", false, ""},
		"split points that it has not": {nil, old, "x", false, "no region begins at x"},
		"fewer are kept past the TTL":  {kept("1", 86400), old, "", false, "family g has a lower MIN_VERSIONS, and keeps fewer versions past its TTL"},
		"as many are kept":             {kept("1", 86400), kept("1", 86400), "", true, ""},
		"more are kept":                {kept("1", 86400), kept("2", 86400), "", false, ""},
		"there is no TTL any more":     {kept("1", 86400), kept("0", loader.Forever), "", false, ""},
	} {
		facts := &cluster.Facts{Table: c.now, Splits: [][]byte{[]byte("m")}}
		var splits [][]byte
		if c.splits != "" {
			splits = [][]byte{[]byte(c.splits)}
		}
		if c.was == nil {
			c.was = old
		}
		err := fits(facts, c.was, splits, c.further)
		if c.says == "" && err != nil || c.says != "" && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPhoenix checks that a table that exists and may have Phoenix indexes is refused, and one that the job has created is not.
func TestPhoenix(t *testing.T) {
	closed := new(loader.Cluster) // does not answer whether there are indexes
	testcheck.Must(t, closed.Close())
	table := &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Families: []loader.Family{{Name: "f", Versions: 1, TTL: loader.Forever}},
		Attributes: map[string]string{"coprocessor$1": "|org.apache.phoenix.hbase.index.Indexer|1|"}}
	for name, c := range map[string]struct {
		indexes        string
		makes, refused bool
	}{"refused": {"", false, true}, "ignored": {"ignore", false, false}, "created by the job": {"", true, false}} {
		j := &run{req: &resolved{}, cluster: closed, job: &checkpoint.Job{History: history.History{Rekey: &history.RekeyRecord{Makes: c.makes}}}, options: RunOptions{PhoenixIndexes: c.indexes}}
		err := j.usable(t.Context(), &cluster.Facts{Name: table.Name, Table: table}, table)
		if c.refused != (fail.KindOf(err) == fail.Check && strings.Contains(err.Error(), "table t is a Phoenix table with perhaps indexes")) || err != nil && !c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequests checks that invalid requests are refused before contacting a
// cluster.
func TestRequests(t *testing.T) {
	a, b := loader.TableName{Namespace: "default", Qualifier: "a"}, loader.TableName{Namespace: "default", Qualifier: "b"}
	right := Request{From: a, To: b, Key: "id +  $row"}
	q, err := right.resolve()
	testcheck.Must(t, err)
	if q.Key != "id + $row" || q.Duplicates != "fail" || q.Verify != "full" || !q.budget.None() {
		t.Errorf("%+v", q)
	}
	for name, change := range map[string]func(*Request){
		"no table": func(r *Request) { r.From = loader.TableName{} }, "one table": func(r *Request) { r.To = a }, "a key": func(r *Request) { r.Key = "salt(" },
		"since": func(r *Request) { r.Choice.Since = "-1" }, "since with first": func(r *Request) { r.Choice.Since, r.Duplicates = "1", "first" },
		"versions of a further pass": func(r *Request) { r.Choice.Since, r.Versions = "1", 2 }, "versions": func(r *Request) { r.Versions = -1 },
		"original keys of no spec": func(r *Request) { r.Choice.FromKey = "a" }, "no time": func(r *Request) { r.Choice.Since, r.Choice.Until = "2", "1" },
		"duplicates": func(r *Request) { r.Duplicates = "x" }, "bad records": func(r *Request) { r.BadRecords = "x" }, "verify": func(r *Request) { r.Verify = "sample" },
	} {
		r := right
		change(&r)
		if _, err := r.resolve(); fail.KindOf(err) != fail.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := right
	other.Choice.Since = "5"
	o, err := other.resolve()
	testcheck.Must(t, err)
	if q.identity("").On("c").ID == o.identity("").On("c").ID || q.identity("x").On("c").ID == q.identity("").On("c").ID {
		t.Error("passes of different times are one job, or one is two")
	}
	if NextSince(1_700_000_600_000) != 1_700_000_000_000 || NextSince(5) != 1 {
		t.Error("the next pass begins at another time")
	}
}

// TestOtherChoice checks that a job keeps the choice that it has begun with, and
// that another pass is another job.
func TestOtherChoice(t *testing.T) {
	a, b := loader.TableName{Namespace: "default", Qualifier: "a"}, loader.TableName{Namespace: "default", Qualifier: "b"}
	k := &history.RekeyRecord{Choice: choice.Asked{FromKey: "5", Until: "2026-11-01T00:00:00Z"}, Versions: 2, Since: 7}
	for _, x := range []struct {
		choice   choice.Asked
		versions int
		says     string
	}{
		{choice.Asked{FromKey: "5", Until: "1793491200000"}, 2, ""},
		{choice.Asked{FromKey: "6", Until: "1793491200000"}, 2, "requested now: from_key 6, until 1793491200000, versions 2 ("},
		{choice.Asked{FromKey: "5", Until: "1793491200000"}, 0, "began to copy from_key 5, until 1793491200000, versions 2; requested now: from_key 5, until 1793491200000 ("},
		{choice.Asked{}, 0, "requested now: all cells ("},
	} {
		q, err := Request{From: a, To: b, Key: "id", OldKey: "salt(id, 5) + id", Choice: x.choice, Versions: x.versions}.resolve()
		testcheck.Must(t, err)
		err = q.checkCells(k)
		if (err == nil) != (x.says == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%+v: %v", x, err)
		}
		if len(q.chosen.Ranges) != map[bool]int{true: 5}[x.choice.ByKey()] {
			t.Errorf("%+v: ranges %q", x, q.chosen.Ranges)
		}
	}
	q, err := Request{From: a, To: b, Key: "id", Choice: choice.Asked{Until: "1700000000000"}}.resolve()
	if testcheck.Must(t, err); q.next(1_800_000_000_000) != 1_700_000_000_000 || q.next(1_600_000_000_000) != 1_600_000_000_000-SinceSlack.Milliseconds() {
		t.Error("the next pass begins at another time than the choice ends")
	}
}

// TestOtherRows checks that a job, also a finished one, is not taken for one with other rows: with another policy for duplicates, or another limit of bad rows.
func TestOtherRows(t *testing.T) {
	a, b := loader.TableName{Namespace: "default", Qualifier: "a"}, loader.TableName{Namespace: "default", Qualifier: "b"}
	for _, x := range []struct {
		duplicates, bad string
		k               *history.RekeyRecord
		refused         bool
	}{
		{"", "", &history.RekeyRecord{Duplicates: "fail"}, false},
		{"last", "5", &history.RekeyRecord{Duplicates: "last", BadRecords: "5"}, false},
		{"last", "", &history.RekeyRecord{Duplicates: "first"}, true},
		{"first", "", &history.RekeyRecord{Duplicates: "first", BadRecords: "5"}, true},
		{"first", "", &history.RekeyRecord{}, false}, // of an earlier version
		{"first", "", nil, false},
	} {
		q, err := Request{From: a, To: b, Key: "id", Duplicates: x.duplicates, BadRecords: x.bad}.resolve()
		testcheck.Must(t, err)
		if err := q.checkRows(x.k); (err != nil) != x.refused || err != nil && fail.KindOf(err) != fail.Check {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// TestOldKeySpecs checks that specs that cannot parse keys are refused before
// anything is read.
func TestOldKeySpecs(t *testing.T) {
	for spec, says := range map[string]string{
		"a + b":                "keys do not show where a ends and b begins",
		"salt(a) + b":          "write it as the last argument",
		"md5hex(a)":            "stores no column unchanged",
		"'x' + $row":           "is the old key itself",
		"a + md5hex(a) + b":    "keys do not show",
		"salt(a, 10) + (":      "key spec",
		"id + upper(name) + x": "keys do not show",
	} {
		r := Request{Key: "id", OldKey: spec}
		if _, err := r.resolve(); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
