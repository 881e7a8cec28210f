package serve

import (
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
)

// postBatch responds with the rows of several query keys, in the order of the request. The result of each key is its
// rows or its own problem. An error that affects all keys fails the request.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, res *resource) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	media, given, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, encoding := cmp.Or(given["charset"], "utf-8"), cmp.Or(r.Header.Get("Content-Encoding"), "identity")
	switch {
	case err != nil || media != jsonType:
		return problem(badMedia, "Content-Type must be %s", jsonType)
	case !strings.EqualFold(charset, "utf-8"):
		return problem(badMedia, "the charset must be utf-8")
	case !strings.EqualFold(encoding, "identity"):
		return problem(badMedia, "a Content-Encoding is not supported: send the body as it is")
	}
	body, free, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer free()
	b, err := parseBatch(body, res.columns, s.limits)
	if err != nil {
		return err
	}
	shape, err := res.shapeOf(b.columns)
	if err != nil {
		return err
	}
	note(r).keys = b.keys
	return s.reading(w, r, res, jsonType, func(ctx context.Context, a *answer) error {
		a.b = append(a.b, `{"results":[`...)
		p := &batchReading{server: s, res: res, batch: b, shape: shape}
		if err := p.run(ctx, a, note(r).caller); err != nil {
			return err
		}
		a.b = append(a.b, "]}\n"...)
		return nil
	})
}

// formBody is body for a request that a form sends.
func (s *Server) formBody(w http.ResponseWriter, r *http.Request) ([]byte, func(), error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return nil, nil, problem(badMedia, "the form sends application/x-www-form-urlencoded")
	}
	return s.body(w, r)
}

// bodyMemory returns the memory that a request with a body of n bytes takes, with the parsed form.
func bodyMemory(n int64) int64 { return 2*n + 1<<10 }

// body reads a request's body, up to its limit. The memory for it stays reserved until free is called.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, free func(), err error) {
	if r.ContentLength > s.limits.Body {
		return nil, nil, problem(tooLarge, "the body may have %d bytes", s.limits.Body)
	}
	size := r.ContentLength
	if size < 0 {
		size = s.limits.Body
	}
	size = bodyMemory(size)
	memory := s.answers.memory.of(note(r).caller)
	if !memory.take(size) {
		return nil, nil, noMemory()
	}
	free = func() { memory.give(size) }
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.Body))
	if err != nil {
		free()
		if _, ok := err.(*http.MaxBytesError); ok {
			return nil, nil, problem(tooLarge, "the body may have %d bytes", s.limits.Body)
		}
		return nil, nil, problem(badBody, "it ended before its time")
	}
	return body, free, nil
}
