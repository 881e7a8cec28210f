package dialect

import (
	"bytes"
	"strconv"
)

// Map names the meaning of the byte after an escape.
type Map string

// Maps of exporters. A byte that a map does not list stands for itself.
const (
	Literal    Map = "literal"     // every byte stands for itself: Hive's LazySimpleSerDe, Spark
	MySQL      Map = "mysql"       // 0 b n r t Z: INTO OUTFILE, files of mysqldump
	MySQLBatch Map = "mysql-batch" // 0 n t: batch mode of the mysql client
	Postgres   Map = "postgres"    // b f n r t v, three octal digits, x and two hex digits: COPY
	HiveCRLF   Map = "hive-crlf"   // n r: serialization.escape.crlf
	JQ         Map = "jq"          // n r t: @tsv
)

// Maps returns all of them.
func Maps() []Map { return []Map{Literal, MySQL, MySQLBatch, Postgres, HiveCRLF, JQ} }

// letters holds the letters of each map with their meanings, as pairs.
var letters = map[Map]string{
	MySQL:      "0\x00b\bn\nr\rt\tZ\x1a",
	MySQLBatch: "0\x00n\nt\t",
	Postgres:   "b\bf\fn\nr\rt\tv\v",
	HiveCRLF:   "n\nr\r",
	JQ:         "n\nr\rt\t",
}

// An Unescaper replaces escapes by their meanings. It does not change once it is made.
type Unescaper struct {
	escape byte
	digits bool // of Postgres
	means  [256]byte
}

// Unescaper returns the unescaper of the dialect's escape, which must be set.
func (d Dialect) Unescaper() *Unescaper {
	u := &Unescaper{escape: d.Escape[0], digits: d.Map == Postgres}
	for i := range u.means {
		u.means[i] = byte(i)
	}
	for l := letters[d.Map]; l != ""; l = l[2:] {
		u.means[l[0]] = l[1]
	}
	return u
}

// Append appends the value without its escapes. An escape at its end stands for itself.
func (u *Unescaper) Append(dst, value []byte) []byte {
	for {
		i := bytes.IndexByte(value, u.escape)
		if i < 0 || i+1 == len(value) {
			return append(dst, value...)
		}
		dst = append(dst, value[:i]...)
		c, n := u.One(value[i+1:])
		dst = append(dst, c)
		value = value[i+1+n:]
	}
}

// One returns the meaning of the bytes after an escape, at least one, and their number.
func (u *Unescaper) One(p []byte) (byte, int) {
	if !u.digits {
		return u.means[p[0]], 1
	}
	n, v := 0, 0
	switch {
	case p[0] >= '0' && p[0] <= '7':
		for n < 3 && n < len(p) && p[n] >= '0' && p[n] <= '7' {
			v = v<<3 | int(p[n]-'0')
			n++
		}
		return byte(v), n
	case p[0] == 'x':
		for n = 1; n < 3 && n < len(p); n++ {
			h, err := strconv.ParseUint(string(p[n:n+1]), 16, 8)
			if err != nil {
				break
			}
			v = v<<4 | int(h)
		}
		if n > 1 {
			return byte(v), n
		}
	}
	return u.means[p[0]], 1
}
