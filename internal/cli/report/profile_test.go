package report

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/profile"

	"github.com/google/go-cmp/cmp"
)

// profilePage returns a page with columns of each kind, and this text wherever a text can be.
func profilePage(text string) string {
	w := profile.New(6)
	const records = 3000
	w.Records(records)
	for i := range records {
		w.Value(0, fmt.Appendf(nil, "%d", i*i), false)
		w.Value(1, fmt.Appendf(nil, "20%02d-01-02", 10+i%9), i%7 == 0)
		w.Value(2, []byte([]string{"OPEN", text, "CLOSED", "OPEN"}[i%4]), false)
		w.Value(3, nil, true)
		w.Value(4, fmt.Appendf(nil, "secret %d", i%50), false)
		w.Value(5, []byte("one"), false)
	}
	p := w.Profile([]string{"id", "day", "status" + text, "none", "token", "one"})
	p.Columns[4].Hide()
	p.Rejected, p.Filtered, p.Bytes, p.Parts, p.OfParts = 2, 5, 123456, 3, 9
	page := &Profile{Inputs: []string{"/exports/orders.csv", text}, Version: "1.2.3", At: time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC), Profile: p}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		panic(err)
	}
	return b.String()
}

// TestProfileGolden compares the whole page.
func TestProfileGolden(t *testing.T) {
	got := profilePage("HELD")
	const file = "testdata/profile.html"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; -update writes it again):\n%s", diff)
	}
}

// TestProfileHostile puts markup wherever text can be. Links only lead to anchors of the page. Every plot has a title, a description
// and its own anchor.
func TestProfileHostile(t *testing.T) {
	got := profilePage("\"'><script>alert(1)</script><img src=x onerror=y>\x00\xff\u202e")
	elements, ids := map[string]int{}, map[string]bool{}
	for _, e := range elementsOf(t, got) {
		elements[e.Name.Local]++
		for _, a := range e.Attr {
			name := strings.ToLower(a.Name.Local)
			if strings.HasPrefix(name, "on") || name == "src" || name == "style" || name == "href" && !strings.HasPrefix(a.Value, "#c") {
				t.Errorf("<%s> has the attribute %s=%q", e.Name.Local, name, a.Value)
			}
			if name == "id" && ids[a.Value] {
				t.Errorf("two elements are %q", a.Value)
			}
			ids[a.Value] = ids[a.Value] || name == "id"
		}
	}
	for _, e := range elementsOf(t, got) {
		for _, a := range e.Attr {
			for id := range strings.FieldsSeq(a.Value) {
				if a.Name.Local == "aria-labelledby" && !ids[id] {
					t.Errorf("<%s> is labelled by %q, which is not there", e.Name.Local, id)
				}
			}
		}
	}
	for _, no := range []string{"script", "img", "link", "iframe", "object"} {
		if elements[no] > 0 {
			t.Errorf("the page has %d <%s>", elements[no], no)
		}
	}
	if elements["style"] != 1 || elements["svg"] < 4 || elements["desc"] < 4 {
		t.Errorf("elements %v", elements)
	}
	for _, no := range []string{"\x00", "\xff", "ZgotmplZ", "secret 1"} {
		if strings.Contains(got, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// TestProfileSize checks that pages of many columns stay small: one of more than most columns shows the first of them, and says so.
func TestProfileSize(t *testing.T) {
	const columns = 1000
	w := profile.New(columns)
	w.Records(2000)
	for c := range columns {
		for i := range 2000 {
			w.Value(c, fmt.Appendf(nil, "%d", i*i%1000), false)
		}
	}
	page := &Profile{Profile: w.Profile(make([]string, columns))}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil || b.Len() > 6_000_000 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	for _, want := range []string{"<b>1000</b><span>columns</span>", "the first 300 of 1000 columns"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
