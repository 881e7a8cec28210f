package report

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/formats/rejects"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// Limits of the examples in a report.
const (
	maxRejects      = 20
	maxReject       = 200 // characters of a record
	maxRejectReason = 300
	maxRejectLine   = 64 << 10 // bytes of a line that are read
)

// readRejects reads the first lines of a file of bad records, and counts all of them. Reasons may quote a value; without
// the records, the quoted values are left out too. again says that the records were read from reject files.
func readRejects(name string, records, again bool) (list []reject, all int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("bad records: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxRejectLine)
	var form rejects.Form
	for {
		line, whole, err := rejectLine(in)
		if err == io.EOF {
			return list, all, nil
		}
		if err != nil {
			return list, all, fmt.Errorf("bad records: %w", err)
		}
		if bytes.HasPrefix(line, []byte(rejects.Magic)) { // the settings of reading the records that follow
			if form = (rejects.Form{}); json.Unmarshal(line, &form) != nil { // those of very many columns do not fit
				form = rejects.Form{}
			}
			continue
		}
		if all++; len(list) == maxRejects {
			continue
		}
		if !whole { // the record is the last field
			line = append(line[:max(0, bytes.Index(line, []byte(`,"raw`)))], '}')
		}
		r, err := parseReject(line, records, func(p rejects.Place) rejects.Unit {
			if again {
				return rejects.ByNone
			}
			return form.Unit(p)
		})
		if err != nil {
			return list, all, fmt.Errorf("bad records %s, line %d: %w", name, all, err)
		}
		list = append(list, r)
	}
}

// rejectLine reads a line, or the beginning of a long line.
func rejectLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	line, err = in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, true, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return line, false, err
}

func parseReject(line []byte, records bool, unit func(rejects.Place) rejects.Unit) (reject, error) {
	var j struct {
		rejects.Place
		Column    string  `json:"column"`
		Reason    string  `json:"reason"`
		Raw       *string `json:"raw"`
		RawBase64 string  `json:"raw_base64"`
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return reject{}, err
	}
	r := reject{Place: j.Text(unit(j.Place)), Column: j.Column, Reason: setting.Shorten(settings.Spoken(j.Reason), maxRejectReason)}
	if !records {
		r.Reason = withoutQuotes(r.Reason)
		return r, nil
	}
	if j.Raw != nil {
		r.Record = setting.Shorten(*j.Raw, maxReject)
	} else if raw, err := base64.StdEncoding.DecodeString(j.RawBase64); err == nil {
		r.Record = setting.Shorten(rowkey.String(raw[:min(len(raw), maxReject)]), maxReject)
	}
	return r, nil
}

// withoutQuotes removes quoted values, which come from the record, from a reason.
func withoutQuotes(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, `"`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString(`"…"`)
		for i := 0; ; i++ {
			if i >= len(rest) {
				return b.String()
			}
			if rest[i] == '\\' {
				i++
			} else if rest[i] == '"' {
				s = rest[i+1:]
				break
			}
		}
	}
}
