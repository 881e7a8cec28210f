package history

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/journal"
)

var update = flag.Bool("update", false, "write the table of events in format.md again")

const formatName = "../journal/format.md"

// fieldNames returns a record's fields, by their JSON names.
func fieldNames(t reflect.Type) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, fieldNames(f.Type)...)
		case f.IsExported() && name != "-":
			names = append(names, "`"+name+"`")
		}
	}
	return names
}

// between returns the range of a document between two markers.
func between(t *testing.T, text, name string) (from, to int) {
	t.Helper()
	begin := regexp.MustCompile(`<!-- ` + name + `\b[^>]*-->\n`).FindStringIndex(text)
	end := strings.Index(text, "<!-- /"+name+" -->")
	if begin == nil || end < begin[1] {
		t.Fatalf("%s has no part %q", formatName, name)
	}
	return begin[1], end
}

// TestFormat compares the table of events in format.md with the events.
func TestFormat(t *testing.T) {
	b, err := os.ReadFile(formatName)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	var table strings.Builder
	table.WriteString("| event | written | synced | fields |\n|---|---|---|---|\n")
	for _, e := range Events() {
		synced := map[journal.Durability]string{journal.First: "yes", journal.OnDisk: "disk"}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", e.Event, e.When, synced[e.Synced], strings.Join(fieldNames(reflect.TypeOf(e.Record)), ", "))
	}
	from, to := between(t, text, "events")
	if text[from:to] == table.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the events are: go test ./internal/engine/history -run TestFormat -update writes it", formatName)
	}
	if err := os.WriteFile(formatName, []byte(text[:from]+table.String()+text[to:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFormatExample replays the example of format.md. Its records have only fields
// of their events, and it includes each event of a load.
func TestFormatExample(t *testing.T) {
	b, err := os.ReadFile(formatName)
	if err != nil {
		t.Fatal(err)
	}
	from, to := between(t, string(b), "example")
	lines := strings.TrimSpace(strings.Trim(strings.TrimSpace(string(b)[from:to]), "`"))
	records, err := journal.Read(strings.NewReader(lines + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	unresolved := map[int64]int{10: 1, 11: 1, 12: 1, 13: 0, 14: 1, 15: 0, 18: 0}
	for i, r := range records {
		h, err := Of(records[:i+1])
		if err != nil {
			t.Fatal(err)
		}
		if want, ok := unresolved[r.Seq]; ok && len(h.Unresolved()) != want {
			t.Errorf("after record %d the outcome of %q is unknown, not of %d files", r.Seq, h.Unresolved(), want)
		}
		if h.Finished != (r.Seq >= 18) {
			t.Errorf("after record %d done is %t", r.Seq, h.Finished)
		}
		at := slices.IndexFunc(Events(), func(e EventInfo) bool { return string(e.Event) == r.Event })
		if at < 0 {
			t.Errorf("record %d: there is no event %s", r.Seq, r.Event)
			continue
		}
		known := append(fieldNames(reflect.TypeOf(Events()[at].Record)), "`seq`", "`time`", "`event`")
		var fields map[string]any
		if err := json.Unmarshal(r.Data, &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			if !slices.Contains(known, "`"+name+"`") {
				t.Errorf("record %d: %s has no field %s", r.Seq, r.Event, name)
			}
		}
	}
}

// TestRecordOfAnotherEventIsRefused appends records that are not the event's.
func TestRecordOfAnotherEventIsRefused(t *testing.T) {
	for _, e := range Events() {
		if _, err := InfoOf(e.Event, e.Record); err != nil {
			t.Error(err)
		}
		if _, err := InfoOf(e.Event, 7); err == nil {
			t.Errorf("%s takes a number", e.Event)
		}
	}
	if _, err := InfoOf("sung", FilesRecord{}); err == nil {
		t.Error("an event that is not known is written")
	}
}
