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

// maxLogHead limits the text around a log in a response: names, sizes, separator lines.
const maxLogHead = 64 << 10

// Log returns the end of a file that an attempt's container wrote, at most most bytes: "stderr" for the program's output,
// "syslog" for its JVM's. It first queries the NodeManager, which has the file while the application runs, then the
// history server, which has it once logs are aggregated, some seconds after the application's end. In between, and if
// logs are not aggregated, the error is ErrUnknown.
func (c *Client) Log(ctx context.Context, a Attempt, file string, most int) ([]byte, error) {
	if !containerID.MatchString(a.Container) {
		return nil, fmt.Errorf("%s has no container (%q): %w", a.ID, a.Container, ErrUnknown)
	}
	if file == "" || strings.ContainsAny(file, "/?#%\\ ") || strings.HasPrefix(file, ".") {
		return nil, fmt.Errorf("%q is not the name of a log", file)
	}
	if most <= 0 {
		return nil, nil
	}
	r := request{
		query:  url.Values{"size": {"-" + strconv.Itoa(most)}},
		accept: "text/plain",
		most:   int64(most) + maxLogHead,
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
			// A NodeManager that no longer has the log redirects, or reports an unknown container with any status.
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
	if c.options.History != "" && ctx.Err() == nil {
		if text, ok := try(c.options.History, "/ws/v1/history"); ok {
			return text, nil
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("log of %s: neither its node nor a history server is known: %w", a.ID, ErrUnknown)
	}
	return nil, fmt.Errorf("log of %s: %w", a.ID, errors.Join(all...))
}

// logText extracts a log from the text that Hadoop puts around it (LogToolUtils.outputContainerLog of 3.4.3). If the
// log contains its own end marker, it keeps it: the last marker counts.
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
