package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowser searches with the pages in Chromium, wide and narrow, light and dark, by the keyboard only, and checks
// what only a browser can show. It needs BULKLOAD_BROWSER, which make test-report sets; pictures go to
// BULKLOAD_PICTURES.
func TestBrowser(t *testing.T) {
	tab := browser(t)
	s := checks(t, Options{}, 30)
	s.fake.put(t, checkKey, 10, "id", "-1234567890.12", "check_id", "times", "text", "2026-11-25T08:09:10.123+08:00", "more", strings.Repeat("long text of many words ", 20))
	s.fake.put(t, checkKey, 10, "id", "1", "check_id", "hostile", "text", "<script>document.title='run'</script>\n行\x00", "empty", "", "bytes", "\xff\x00")
	s.probeAll(t.Context())
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	for _, width := range []int64{1400, 390} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				b := &browsing{T: t, url: web.URL, name: fmt.Sprintf("%d-%s", width, scheme)}
				b.walk(tab, width, scheme)
			})
		}
	}
}

// browser opens Chromium, which ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("BULKLOAD_BROWSER") == "" {
		t.Skip("make test-report runs it")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("no chromium here")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	allocated, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	tab, closed := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits, so that the directory is no longer in use
		closed()
	})
	if err := chromedp.Run(tab); err != nil {
		t.Fatal(err)
	}
	return tab
}

// browsing is a walk over the pages in one format.
type browsing struct {
	*testing.T
	url, name string
	of        string // name of the pictures, default serve

	mu   sync.Mutex
	said []string
}

func (b *browsing) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, fmt.Sprintf(format, args...))
}

// listen records what pages must not do: contact other hosts, log errors, run scripts.
func (b *browsing) listen(ctx context.Context) {
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, b.url) && e.Request.URL != "data:," {
				b.say("it asks for %s", e.Request.URL)
			}
		case *log.EventEntryAdded:
			if !strings.Contains(e.Entry.Text, "status of 400") { // of the one wrong token below
				b.say("the log says %s", e.Entry.Text)
			}
		case *runtime.EventConsoleAPICalled:
			b.say("the console says %v", e.Args)
		case *runtime.EventExceptionThrown:
			b.say("exception %s", e.ExceptionDetails.Text)
		case *page.EventJavascriptDialogOpening:
			b.say("dialog %s", e.Message)
		}
	})
}

func (b *browsing) walk(tab context.Context, width int64, scheme string) {
	ctx, cancel := b.begin(tab, width, scheme)
	defer cancel()
	b.look(ctx, "start")
	// by the keyboard: the field of the key is the first after the links, Enter sends the form
	b.must(chromedp.Run(ctx, chromedp.Click(`main a[href="/search/check"]`), chromedp.WaitVisible(`#bykey`)))
	b.look(ctx, "form")
	b.tabTo(ctx, "check_id")
	b.must(chromedp.Run(ctx, chromedp.KeyEvent("A"+kb.Enter), chromedp.WaitVisible(`#rows`)))
	b.shows(ctx, "#rows", "first 20 rows")
	b.shows(ctx, "dl", "md5hex(check_id)")
	b.shows(ctx, "pre", `"check_id": "A"`)
	b.look(ctx, "rows")
	b.tabTo(ctx, "Next page")
	b.must(chromedp.Run(ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(`input[name="page"]`)))
	b.shows(ctx, "#rows", "10 rows")
	// a range of another table
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url+"/search/check"), chromedp.WaitVisible(`#byrange`),
		chromedp.SendKeys(`input[name="check_id"]`, "hostile"+kb.Enter), chromedp.WaitVisible(`#rows`)))
	b.shows(ctx, "table", "<script>document.title='run'</script>")
	b.shows(ctx, "table", "行")
	b.look(ctx, "hostile")
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url+"/search/check"), chromedp.WaitVisible(`#byrange`),
		chromedp.SendKeys(`input[name="check_id"]`, "times"+kb.Enter), chromedp.WaitVisible(`#rows`)))
	b.shows(ctx, "table", "2026-11-25T08:09:10.123+08:00")
	b.look(ctx, "times")
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url+"/search/orders"), chromedp.WaitVisible(`#byrange`),
		chromedp.SendKeys(`input[name="from"]`, "nobody,2"+kb.Enter), chromedp.WaitVisible(`#rows`)))
	b.shows(ctx, "main", "No row is in this range.")
	b.must(chromedp.Run(ctx, chromedp.SendKeys(`input[name="to"]`, "a"+kb.Enter), chromedp.WaitVisible(`[role=alert]`)))
	b.look(ctx, "problem")
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url+"/docs"), chromedp.WaitVisible(`#problems`),
		chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)))
	b.shows(ctx, "main", "/v1/check/rows:batch")
	b.look(ctx, "docs")
	b.end()
}

// begin opens the first page in a window.
func (b *browsing) begin(tab context.Context, width int64, scheme string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	b.listen(ctx)
	b.must(chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(b.url)))
	return ctx, cancel
}

// end reports what pages did but must not do.
func (b *browsing) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.said {
		b.Error(said)
	}
}

func (b *browsing) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *browsing) shows(ctx context.Context, selector, want string) {
	b.Helper()
	var text string
	b.must(chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent).join("\n")`, selector), &text)))
	if !strings.Contains(text, want) {
		b.Errorf("%s shows %q, want %q", selector, text, want)
	}
}

// tabTo presses Tab until a field with a name or a button with a text has the focus, which must be visible.
func (b *browsing) tabTo(ctx context.Context, want string) {
	b.Helper()
	for range 60 {
		var at struct {
			Name, Outline string
		}
		b.must(chromedp.Run(ctx, chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(
			`(e => ({Name: e.name || e.textContent, Outline: getComputedStyle(e).outlineStyle}))(document.activeElement)`, &at)))
		if at.Outline == "none" {
			b.Errorf("the focus on %.40q does not show", at.Name)
		}
		if at.Name == want {
			return
		}
	}
	b.Fatalf("Tab does not come to %s", want)
}

// look measures the page and takes its picture.
func (b *browsing) look(ctx context.Context, what string) {
	b.Helper()
	var findings []string
	var picture []byte
	b.must(chromedp.Run(ctx, chromedp.FullScreenshot(&picture, 100), chromedp.Evaluate(lookScript, &findings)))
	for _, f := range findings {
		b.Errorf("%s: %s", what, f)
	}
	if dir := os.Getenv("BULKLOAD_PICTURES"); dir != "" {
		b.must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%s.png", cmp.Or(b.of, "serve"), what, b.name)), picture, 0o644))
	}
}

// lookScript measures a page: elements beyond the window that do not scroll, contrast below 4.5 to 1, fields without a
// label, skipped levels of headings, duplicate ids, regions without a name, scripts.
const lookScript = `(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth, window_ = document.documentElement.clientWidth;
  if (wide > window_) found.push("the page is " + wide + " pixels wide in a window of " + window_);
  for (const e of document.querySelectorAll("body *")) {
    const b = e.getBoundingClientRect();
    if (b.width > 0 && !e.closest(".scroll") && !e.closest("pre") && !e.matches(".skip") && (b.right > window_ + 1 || b.left < -1))
      found.push(e.tagName + " lies from " + b.left + " to " + b.right + ": " + e.textContent.slice(0, 60));
  }
  const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
  const seen = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const ink = getComputedStyle(e).color, paper = ground(e);
    const a = light(ink), b = light(paper), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 && !seen.has(ink + paper)) { seen.add(ink + paper); found.push("contrast " + ratio.toFixed(2) + " of " + e.tagName + "." + e.className + " " + ink + " on " + paper); }
  }
  for (const e of document.querySelectorAll("input:not([type=hidden])")) if (!e.labels.length) found.push("no label: " + e.name);
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3")) { const n = +e.tagName[1]; if (n > level + 1) found.push("a level is skipped before " + e.textContent); level = n; }
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of ids) if (ids.filter(x => x === id).length > 1) found.push("twice: " + id);
  for (const e of document.querySelectorAll("[role=region], nav, form[aria-labelledby]")) {
    const name = e.getAttribute("aria-label") || (document.getElementById(e.getAttribute("aria-labelledby")) || {}).textContent;
    if (!name) found.push("no name: " + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll(".scroll, pre")) if (e.tabIndex < 0) found.push("cannot be scrolled by keyboard: " + e.outerHTML.slice(0, 60));
  for (const s of document.scripts) if (s.src !== location.origin + "/console.js") found.push("it has scripts");
  const lines = e => { const r = document.createRange(); r.selectNodeContents(e); return new Set([...r.getClientRects()].map(b => Math.round(b.top))).size; };
  for (const e of document.querySelectorAll(".word")) if (lines(e) > 1) found.push("broken in several lines: " + e.textContent);
  for (const e of document.querySelectorAll(".request tbody th code")) if (lines(e) > 1) found.push("a parameter's name is broken: " + e.textContent);
  for (const e of document.querySelectorAll(".request td")) if (e.clientWidth < 60) found.push("a column of " + e.clientWidth + " pixels: " + e.textContent);
  const answer = document.querySelector(".answer"), rows = answer && answer.querySelector("section");
  if (rows && rows.getBoundingClientRect().width < 0.9 * answer.getBoundingClientRect().width) found.push("the rows have not the page's width");
  return found.slice(0, 10);
})()`
