package report

import (
	"context"
	"fmt"
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
)

// TestBrowser opens reports in Chromium, wide and narrow, light and dark, and checks what only a browser can show:
// nothing overflows, no letters overlap, all text is readable, and nothing is loaded or logged as an error. It needs
// BULKLOAD_BROWSER, which make test-report sets. Pictures go to BULKLOAD_PICTURES. It also checks the reports that the
// glob BULKLOAD_REPORTS names.
func TestBrowser(t *testing.T) {
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
	ctx := openBrowser(t, program)
	for name, file := range reportFiles(t) {
		for _, width := range []int64{1280, 390} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) { look(t, ctx, file, name, width, scheme) })
			}
		}
	}
}

func openBrowser(t *testing.T, program string) context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("hide-scrollbars", true))
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func reportFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	dir := t.TempDir()
	for name, r := range map[string]*document{"good": goodReport(), "failed": failedReport(), "refused": refusedReport(), "already": alreadyReport(),
		"hostile": hostileReport(), "skewed": skewedReport(200), "many": skewedReport(2000), "split": splitReport(30)} {
		files[name] = filepath.Join(dir, name+".html")
		if err := os.WriteFile(files[name], []byte(render(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"profile": "HELD", "profile-hostile": hostile + strings.Repeat("W", 300)} {
		files[name] = filepath.Join(dir, name+".html")
		if err := os.WriteFile(files[name], []byte(profilePage(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	more, err := filepath.Glob(os.Getenv("BULKLOAD_REPORTS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range more {
		files["file-"+strings.TrimSuffix(filepath.Base(file), ".html")] = file
	}
	return files
}

// look opens one page in one format.
func look(t *testing.T, tab context.Context, file, name string, width int64, scheme string) {
	ctx, cancel := context.WithTimeout(tab, 2*time.Minute) // of this tab only: background tabs are not drawn
	defer cancel()
	var mu sync.Mutex
	var said []string
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, args...))
	}
	url := "file://" + file
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			if e.Request.URL != url {
				say("it asks for %s", e.Request.URL)
			}
		case *log.EventEntryAdded:
			say("the log says %s", e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			say("the console says %v", e.Args)
		case *runtime.EventExceptionThrown:
			say("exception %s", e.ExceptionDetails.Text)
		case *page.EventJavascriptDialogOpening:
			say("dialog %s", e.Message)
		}
	})
	var findings []string
	var picture []byte
	err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(url),
		chromedp.FullScreenshot(&picture, 100),
		chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil),
		chromedp.Evaluate(lookScript, &findings))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(findings, said...) {
		t.Error(f)
	}
	if dir := os.Getenv("BULKLOAD_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lookScript measures a page: elements beyond the window, overlapping letters of a chart, and contrast below 4.5 to
// 1.
const lookScript = `(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth, window_ = document.documentElement.clientWidth;
  if (wide > window_) found.push("the page is " + wide + " pixels wide in a window of " + window_);
  for (const e of document.querySelectorAll("body *")) {
    const b = e.getBoundingClientRect();
    if (b.width > 0 && !e.closest(".wide") && !e.closest("thead") && (b.right > window_ + 1 || b.left < -1))
      found.push(e.tagName + " lies from " + b.left + " to " + b.right + ": " + e.textContent.slice(0, 60));
  }
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.children].concat(...[...svg.querySelectorAll("g")].map(g => [...g.children])).filter(e => e.tagName === "text" && e.textContent);
    const boxes = texts.map(e => e.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const a = boxes[i], b = boxes[j];
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        found.push("letters on letters: " + texts[i].textContent + " and " + texts[j].textContent);
    }
  }
  const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
  const seen = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())|| ["TITLE", "DESC", "title", "desc"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), ink = e.ownerSVGElement ? style.fill : style.color, paper = ground(e);
    const a = light(ink), b = light(paper), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 && !seen.has(ink + paper)) { seen.add(ink + paper); found.push("contrast " + ratio.toFixed(2) + " of " + e.tagName + "." + e.className + " " + ink + " on " + paper); }
  }
  return found.slice(0, 10);
})()`
