package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// mostLogHead bounds what stands around a log in an answer: names, sizes, lines of signs.
const mostLogHead = 64 << 10

// Log gives the end of a file that an attempt's container wrote, no more than most bytes: "stderr" for what the program
// said, "syslog" for what its JVM did. The NodeManager is asked first, which has it as long as the application runs; then
// the history server, which has it when logs are aggregated, some seconds after the application's end. In between, and
// where logs are not aggregated, it is ErrUnknown.
func (c *Client) Log(ctx context.Context, a Attempt, file string, most int) ([]byte, error) {
	if !containerID.MatchString(a.Container) {
		return nil, fmt.Errorf("%s has no container (%q): %w", a.ID, a.Container, ErrUnknown)
	}
	if file == "" || strings.ContainsAny(file, "/?#%\\ ") || strings.HasPrefix(file, ".") {
		return nil, fmt.Errorf("%q is no name of a log", file)
	}
	if most <= 0 {
		return nil, nil
	}
	r := request{
		query:  url.Values{"size": {"-" + strconv.Itoa(most)}},
		accept: "text/plain",
		most:   int64(most) + mostLogHead,
	}
	path := "/containerlogs/" + a.Container + "/" + file
	var all []error
	try := func(base, prefix string) ([]byte, bool) {
		r.path = prefix + path
		got, err := c.ask(ctx, base, r)
		if err == nil && got.success() {
			if text, ok := logText(got.body, most); ok {
				return text, true
			}
			err = &Error{URL: got.url, Status: got.status, Why: "the answer has no log", Err: ErrUnknown}
		} else if err == nil {
			refused := refusal(got.url, got.status, got.body)
			// A NodeManager that has given the log away sends elsewhere, or says that it knows no such container as it likes.
			if got.status/100 == 3 || refused.Err == nil || got.status >= 500 {
				refused.Err = ErrUnknown
			}
			err = refused
		}
		all = append(all, err)
		return nil, false
	}
	if base := c.nodeBase(a.Node); base != "" {
		if text, ok := try(base, "/ws/v1/node"); ok {
			return text, nil
		}
	}
	if c.o.History != "" && ctx.Err() == nil {
		if text, ok := try(c.o.History, "/ws/v1/history"); ok {
			return text, nil
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("log of %s: neither its node nor a history server is known: %w", a.ID, ErrUnknown)
	}
	return nil, fmt.Errorf("log of %s: %w", a.ID, errors.Join(all...))
}

// logText takes a log out of what Hadoop puts around it (LogToolUtils.outputContainerLog of 3.4.3). A log that has the
// lines of its own end in it keeps them: the last counts.
func logText(body []byte, most int) ([]byte, bool) {
	const begin, end = "LogContents:\n", "\nEnd of LogType:"
	i := bytes.Index(body, []byte(begin))
	if i < 0 {
		return nil, false
	}
	text := body[i+len(begin):]
	if j := bytes.LastIndex(text, []byte(end)); j >= 0 {
		text = text[:j]
	} else if bytes.HasPrefix(text, []byte(end[1:])) {
		text = nil
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return text, true
}
