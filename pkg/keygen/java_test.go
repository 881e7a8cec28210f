package keygen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"bulkload/internal/test/testcheck"
)

// judge runs testdata/Judge.java on requests.
func judge(t *testing.T, requests []byte) *answers {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a JVM")
	}
	return &answers{t: t, b: testcheck.Java(t, bytes.NewReader(requests), "testdata/Judge.java")}
}

// answers are the judge's answers, which are read one after the other.
type answers struct {
	t *testing.T
	b []byte
}

func (a *answers) take(n int) []byte {
	if n > len(a.b) {
		a.t.Fatal("java's answers end early")
	}
	b := a.b[:n]
	a.b = a.b[n:]
	return b
}

func (a *answers) int32() int32  { return int32(binary.BigEndian.Uint32(a.take(4))) }
func (a *answers) int64() int64  { return int64(binary.BigEndian.Uint64(a.take(8))) }
func (a *answers) bytes() []byte { return a.take(int(a.int32())) }

func appendString(dst, s []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// randomText returns text of all planes, mostly ASCII, Chinese and emoji.
func randomText(r *rand.Rand) []byte {
	n := r.IntN(40)
	switch r.IntN(1000) {
	case 0:
		n = r.IntN(8000) // a key has 32,767 bytes at most
	case 1, 2, 3:
		n = 0
	}
	var b []byte
	for range n {
		var c rune
		switch r.IntN(8) {
		case 0:
			c = rune(r.IntN(utf8.MaxRune + 1))
		case 1:
			c = 0x4e00 + rune(r.IntN(0x5000))
		case 2:
			c = 0x1f300 + rune(r.IntN(0x300))
		case 3:
			c = rune(r.IntN(0x21)) // characters that trim removes
		default:
			c = rune(0x20 + r.IntN(0x5f))
		}
		if !utf8.ValidRune(c) {
			c = 0x10ffff
		}
		b = utf8.AppendRune(b, c)
	}
	return b
}

// one returns a function that makes the key of a spec from one column, called v, which may be empty.
func one(t *testing.T, spec string) func(v []byte) []byte {
	t.Helper()
	e, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Options{Regions: 1})
	if err != nil {
		t.Fatal(err)
	}
	var dst []byte
	return func(v []byte) []byte {
		if dst, err = p.Append(dst[:0], [][]byte{v}); err != nil {
			t.Fatalf("%s of %.60q: %v", spec, v, err)
		}
		return dst
	}
}

// TestTextsAsJava compares 100,000 random texts with String.hashCode, MessageDigest, CRC32, StringBuilder.reverse and
// String.trim.
func TestTextsAsJava(t *testing.T) {
	const texts = 100_000
	r := rand.New(rand.NewPCG(7, 11))
	var requests []byte
	all := make([][]byte, texts)
	for i := range all {
		all[i] = randomText(r)
		requests = appendString(append(requests, 's'), all[i])
	}
	for _, s := range []string{"polygenelubricants", "订单😀1", "\U0010ffff", "\x00"} {
		all = append(all, []byte(s))
		requests = appendString(append(requests, 's'), []byte(s))
	}
	java := judge(t, requests)
	check := func(spec string, v, got, want []byte) {
		if !bytes.Equal(got, want) {
			t.Fatalf("%s of %.60q is %.60q, Java has %.60q", spec, v, got, want)
		}
	}
	type spec struct {
		name string
		fn   func([]byte) []byte
	}
	make := func(name string) spec { return spec{name, one(t, name)} }
	hash, longHashOf := make("hash(orempty(v))"), make("longhash(v)")
	digests := []spec{make("md5raw(orempty(v))"), make("sha1raw(orempty(v))"), make("sha256raw(orempty(v))"), make("crc32raw(orempty(v))")}
	salts := []spec{make("salt(orempty(v), 10)"), make("salt(orempty(v), 50)"), make("salt(orempty(v), 1000)")}
	javaSalts := []spec{make("javasalt(orempty(v), 10)"), make("javasalt(orempty(v), 16)"), make("javasalt(orempty(v), 128)"), make("javasalt(orempty(v), 256)")}
	byteSalt, reversed, trimmed := make("bytesalt(orempty(v), 256)"), make("reverse(orempty(v))"), make("trim(orempty(v))")
	for _, v := range all {
		check(hash.name, v, hash.fn(v), strconv.AppendInt(nil, int64(java.int32()), 10))
		product := int64(uint64(len(v)) * 0x9E3779B97F4A7C15)
		check(longHashOf.name, v, longHashOf.fn(strconv.AppendInt(nil, product, 10)), strconv.AppendInt(nil, int64(java.int32()), 10))
		for i, size := range []int{16, 20, 32, 4} {
			check(digests[i].name, v, digests[i].fn(v), java.take(size))
		}
		for i, width := range []int{1, 2, 3} {
			check(salts[i].name, v, salts[i].fn(v), fmt.Appendf(nil, "%0*d", width, java.int32()))
		}
		check(byteSalt.name, v, byteSalt.fn(v), java.take(1))
		for _, s := range javaSalts {
			check(s.name, v, s.fn(v), java.take(1))
		}
		check(reversed.name, v, reversed.fn(v), java.bytes())
		check(trimmed.name, v, trimmed.fn(v), java.bytes())
	}
	if len(java.b) != 0 {
		t.Errorf("%d bytes of answers are left", len(java.b))
	}
}

// TestDatesAsJava compares local dates of several zones with java.time, including hours that a clock change repeats or
// skips.
func TestDatesAsJava(t *testing.T) {
	const layoutText = "yyyy-MM-dd HH:mm:ss.SSS"
	r := rand.New(rand.NewPCG(3, 4))
	var requests []byte
	type date struct{ zone, text string }
	var all []date
	add := func(zone string, at time.Time) {
		d := date{zone, at.UTC().Format("2006-01-02 15:04:05.000")}
		all = append(all, d)
		requests = append(requests, 'd')
		for _, s := range []string{zone, layoutText, d.text} {
			requests = appendString(requests, []byte(s))
		}
	}
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Europe/London", "Australia/Lord_Howe"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
		for range 3000 {
			add(zone, from.Add(time.Duration(r.Int64N(int64(50*365*24*time.Hour)))))
		}
		for at := from.In(loc); ; {
			_, end := at.ZoneBounds()
			if end.IsZero() || end.Year() > 2019 {
				break
			}
			_, offset := end.Zone()
			for minutes := -150; minutes <= 150; minutes += 15 {
				add(zone, end.Add(time.Duration(offset)*time.Second+time.Duration(minutes)*time.Minute))
			}
			at = end
		}
	}
	java := judge(t, requests)
	type program struct{ millis, revtime, date func([]byte) []byte }
	programs := map[string]program{}
	for _, d := range all {
		p, ok := programs[d.zone]
		if !ok {
			p.millis = one(t, fmt.Sprintf("millis(v, '%s', '%s')", layoutText, d.zone))
			p.revtime = one(t, fmt.Sprintf("revtime(millis(v, '%s', '%s'))", layoutText, d.zone))
			p.date = one(t, fmt.Sprintf("date(v, 'unixms', 'yyyy-MM-dd HH:mm:ss.SSS XXX', '%s')", d.zone))
			programs[d.zone] = p
		}
		millis := java.int64()
		if got := string(p.millis([]byte(d.text))); got != fmt.Sprint(millis) {
			t.Errorf("%s in %s is %s ms, Java has %d", d.text, d.zone, got, millis)
		}
		if got, want := string(p.revtime([]byte(d.text))), fmt.Sprint(java.int64()); got != want {
			t.Errorf("%s in %s reversed is %s, Java has %s", d.text, d.zone, got, want)
		}
		if got, want := p.date(fmt.Append(nil, millis)), java.bytes(); !bytes.Equal(got, want) {
			t.Errorf("%d ms in %s is %s, Java has %s", millis, d.zone, got, want)
		}
	}
}
