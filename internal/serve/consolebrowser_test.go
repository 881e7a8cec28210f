package serve

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/serve/console"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserConsole views 300 jobs, five of them running, in Chromium, wide and narrow, light and dark: changes appear without reloading,
// everything can be reached by the keyboard, the page works without JavaScript, and shows when the place is out of reach. It has the requirements
// of TestBrowser.
func TestBrowserConsole(t *testing.T) {
	tab := browser(t)
	for _, width := range []int64{1400, 390} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				states := teststate.States{T: t, Dir: filepath.Join(t.TempDir(), "state")}
				running := states.Many(300, 5)
				board := openBoard(t, states, clientsOfConsole(), Options{}, console.Options{Control: true, Name: "hbase:bulkload_state"})
				web := httptest.NewServer(board.Handler())
				defer web.Close()
				url := strings.Replace(web.URL, "http://", "http://all:secret-of-all@", 1)
				b := &browsing{T: t, url: url, of: "console", name: fmt.Sprintf("%d-%s", width, scheme)}
				ctx, cancel := b.begin(tab, width, scheme)
				defer cancel()
				b.url = web.URL // scripts send requests without the name
				b.must(chromedp.Run(ctx, chromedp.Navigate(web.URL), chromedp.WaitVisible("#jobs")))
				b.look(ctx, "list")
				b.walkConsole(ctx, states, running[1].Dir, func(percent int) {
					states.Says(running[1], "now-1", percent, "level=INFO msg=\"run spilled\" rows=1000000")
				})
				b.end()
			})
		}
	}
}

// walkConsole visits the list, a job, and the list again, by the keyboard.
func (b *browsing) walkConsole(ctx context.Context, states teststate.States, dir string, says func(percent int)) {
	name := filepath.Base(dir)
	b.must(chromedp.Run(ctx, chromedp.Evaluate(`window.stayed = true; document.querySelector("#job-`+name+` a").focus()`, nil)))
	says(61)
	b.eventually(ctx, `document.querySelector("#job-`+name+`").textContent.includes("write 61%")`)
	b.eventually(ctx, `window.stayed && document.activeElement.getAttribute("href") === "/jobs/`+name+`"`)
	b.must(chromedp.Run(ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#facts")))
	b.shows(ctx, "#live", "run spilled")
	b.look(ctx, "job")
	b.must(chromedp.Run(ctx, chromedp.Evaluate(`window.stayed = true; document.querySelectorAll("details").forEach(d => d.open = true)`, nil)))
	says(77)
	b.eventually(ctx, `window.stayed && document.querySelector("#live").textContent.includes("write 77%") && [...document.querySelectorAll("details")].every(d => d.open)`)
	b.tabTo(ctx, "Pause")
	b.tabTo(ctx, "Resume")
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url+"/?state=running"), chromedp.WaitVisible("#jobs"), chromedp.Evaluate(`window.stayed = true`, nil)))
	states.Failed("sales:t1", "just-now", "hdfs is full")
	b.eventually(ctx, `window.stayed && document.querySelector(".states").textContent.includes("failed 9")`)
	b.must(chromedp.Run(ctx, chromedp.Navigate(b.url), chromedp.WaitVisible("#jobs")))
	states.Failed("sales:t1", "and-now", "hdfs is full")
	b.eventually(ctx, `document.querySelector("#news").textContent.includes("failed, resumable")`)
	testcheck.Must(b.T, os.Rename(states.Dir, states.Dir+"-away"))
	b.eventually(ctx, `document.querySelector("#away") && document.querySelectorAll("[id^=job-]").length === 302`)
	b.look(ctx, "away")
	testcheck.Must(b.T, os.Rename(states.Dir+"-away", states.Dir))
	b.eventually(ctx, `!document.querySelector("#away")`)
	b.must(chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(b.url+"/jobs/"+name)))
	b.must(chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(false)))
	b.shows(ctx, "head", "")
	b.eventually(ctx, `document.querySelector("noscript meta[http-equiv=refresh]") && document.querySelector("#facts")`)
	b.look(ctx, "noscript")
}

// eventually waits until a condition of the page holds.
func (b *browsing) eventually(ctx context.Context, condition string) {
	b.Helper()
	if err := chromedp.Run(ctx, chromedp.Poll(condition, nil)); err != nil {
		b.Fatalf("%s does not come about: %v", condition, err)
	}
}
