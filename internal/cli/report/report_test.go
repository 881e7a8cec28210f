package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

func render(t *testing.T, r *document) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden compares whole pages.
func TestGolden(t *testing.T) {
	for name, r := range map[string]*document{"good": goodReport(), "failed": failedReport(), "refused": refusedReport(), "already": alreadyReport(), "skewed": skewedReport(50), "split": splitReport(2)} {
		t.Run(name, func(t *testing.T) {
			got := render(t, r)
			file := "testdata/" + name + ".html"
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
		})
	}
}

// elementsOf returns the elements of a page.
func elementsOf(t *testing.T, page string) (list []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			list = append(list, e.Copy())
		}
	}
}

// TestHostile puts markup wherever text can be, and checks that none of it becomes markup.
func TestHostile(t *testing.T) {
	got := render(t, hostileReport())
	elements := map[string]int{}
	for _, e := range elementsOf(t, got) {
		elements[e.Name.Local]++
		for _, a := range e.Attr {
			if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || a.Name.Local == "src" || a.Name.Local == "href" || a.Name.Local == "style" {
				t.Errorf("<%s> has the attribute %s=%q", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	for _, no := range []string{"script", "img", "link", "iframe", "object"} {
		if elements[no] > 0 {
			t.Errorf("the page has %d <%s>", elements[no], no)
		}
	}
	if elements["style"] != 1 || elements["svg"] < 3 {
		t.Errorf("elements %v", elements)
	}
	for _, no := range []string{"\x00", "\xff", "ZgotmplZ"} {
		if strings.Contains(got, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// TestSize checks that pages of any job stay small.
func TestSize(t *testing.T) {
	for _, regions := range []int{1, 40, 41, 200, 2000, 100_000} {
		r := skewedReport(regions)
		r.Samples = nil
		for i := range 1000 {
			r.Samples = append(r.Samples, sample{At: after(float64(i) / 100), Read: int64(i) * 1234, Input: int64(i) * 99999, Merged: int64(i) * 777, Output: int64(i)})
		}
		if n := len(render(t, r)); n > 600<<10 {
			t.Errorf("a page of %d regions has %d bytes", regions, n)
		}
	}
}

// TestSizeOfParts checks the size for a run over years, with the greatest number of listed directories.
func TestSizeOfParts(t *testing.T) {
	r := splitReport(500)
	r.MoreParts = 3000
	if got := render(t, r); len(got) > 600<<10 || !strings.Contains(got, "and 3,000 more directories") {
		t.Errorf("the page has %d bytes", len(got))
	}
}

// TestWriteIsSafeWithOddTimes writes reports whose clock has stopped or gone back.
func TestWriteIsSafeWithOddTimes(t *testing.T) {
	for _, ended := range []time.Time{noon, noon.Add(-time.Hour), {}} {
		r := goodReport()
		r.Ended = ended
		if got := render(t, r); strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("ended %v: the page has a number that is none", ended)
		}
	}
	render(t, &document{})
}

func TestGini(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		want  float64
	}{{[]int64{5, 5, 5, 5}, 0}, {[]int64{0, 0, 0, 8}, 0.75}, {[]int64{7}, 0}, {[]int64{0, 0}, 0}} {
		if got := gini(c.sizes); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v: %v, want %v", c.sizes, got, c.want)
		}
	}
}

func TestThin(t *testing.T) {
	var s []sample
	for i := range 10_000 {
		s = append(s, sample{Read: int64(i)})
		s, _ = downsample(s, 600)
		if len(s) > 600 || s[0].Read != 0 || s[len(s)-1].Read != int64(i) {
			t.Fatalf("%d samples from %d to %d after %d", len(s), s[0].Read, s[len(s)-1].Read, i)
		}
	}
}
