package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// mostMistakeLines and mostMessage are the limits of an error message.
const (
	mostMistakeLines = 2
	mostMessage      = 160
)

// mistake FILE CODE COMMAND… runs a command that ends with an exit code and appends its standard error to a file, which a script
// compares as a whole. A message has at most two lines of at most 160 characters each.
func mistake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: mistake FILE CODE COMMAND…")
	}
	exitcode(ts, false, args[1:])
	said := strings.TrimSuffix(strings.ReplaceAll(ts.ReadFile("stderr"), ts.Getenv("WORK")+"/", ""), "\n")
	lines := strings.Split(said, "\n")
	if said == "" || len(lines) > mostMistakeLines {
		ts.Fatalf("the message has %d lines:\n%s", len(lines), said)
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > mostMessage {
			ts.Fatalf("%d characters: %s", n, l)
		}
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(said + "\n")
	ts.Check(err)
	ts.Check(f.Close())
}
