package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page.html.tmpl
var pageText string

//go:embed report.css
var style string

// pageHead is the data of the head of every page.
type pageHead struct {
	Title     string
	Style     template.CSS
	StyleHash string
}

func newPage(title string) pageHead {
	sum := sha256.Sum256([]byte(style))
	return pageHead{title, template.CSS(style), base64.StdEncoding.EncodeToString(sum[:])}
}

func write(w io.Writer, text string, v any) error {
	t, err := template.New("page").Funcs(functions).Parse(pageText)
	if err == nil {
		t, err = t.New("body").Parse(text)
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return err
	}
	_, err = w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))) // html/template does not check that bytes are UTF-8
	return err
}
