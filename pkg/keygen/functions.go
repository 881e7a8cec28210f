package keygen

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"
)

// maxModulus is the greatest modulus of a decimal salt.
const maxModulus = 1 << 30

// spreadDefault is the default modulus of spread: two digits.
const spreadDefault = 100

// A function of the language: the form of a call, its compilation, and the facts about its bytes that are known without a record.
type function struct {
	name    string
	form    string // how a call is written, for messages and the reference
	about   string
	joins   bool     // takes one or more arguments, joined; else exactly one
	consts  [2]int   // least and most literals after the argument
	ints    [2]int   // least and most integers at the end
	bounds  [][2]int // of each integer
	salts   bool     // takes the job's number of regions if it has no integer
	check   func(c Call) error
	text    func(*compiler, Call) (op, error)
	number  func(*compiler, Call) (number, error) // one of text and number is set
	shape   func(c Call, o Options) shape
	numbers func(c Call, o Options) numbers // of a number
	kind    func(c Call) (Kind, error)      // for functions of values only: checks the call and returns its kind; all other members are nil then
}

// A Function is the documentation of a function of the language.
type Function struct {
	Form  string `json:"form"`  // how a call is written, such as substr(e, from [, count])
	About string `json:"about"` // its result, in a sentence
}

// Functions returns all functions of the language, in the order of docs/keys.md.
func Functions() []Function { return documented(functions()) }

func documented(functions []function) []Function {
	list := make([]Function, len(functions))
	for i, f := range functions {
		list[i] = Function{Form: f.form, About: f.about}
	}
	return list
}

// language holds the functions. It is built at its first use, because functions compile calls of other functions, and only once, because a
// service compiles keys for each request.
var language struct {
	once      sync.Once
	functions []function
}

// functions returns all functions of the language, in the order of the reference. The list is shared and must not be changed.
func functions() []function {
	language.once.Do(func() { language.functions = listFunctions() })
	return language.functions
}

func listFunctions() []function {
	salt := [][2]int{{1, maxModulus}}
	hash32 := numbers{min: -1 << 31, max: 1<<31 - 1, random: true, even: true}
	always := func(n numbers) func(Call, Options) numbers { return func(Call, Options) numbers { return n } }
	return []function{
		{name: "salt", form: "salt(e, … [, n])", about: "|hash(e …) mod n| with leading zeros to the width of n−1; without n the job's number of salts",
			joins: true, ints: [2]int{0, 1}, bounds: salt, salts: true, text: salted(true, false), shape: saltShape},
		{name: "bytesalt", form: "bytesalt(e, … [, n])", about: "|hash(e …) mod n| as one byte, n at most 256",
			joins: true, ints: [2]int{0, 1}, bounds: [][2]int{{1, 256}}, salts: true, text: salted(false, false), shape: byteSaltShape(false)},
		{name: "javasalt", form: "javasalt(e, … [, n])", about: "Java's (byte) (hash(e …) % n), which keeps the sign: bytes 0 to n−1 and 256−(n−1) to 255, n at most 256",
			joins: true, ints: [2]int{0, 1}, bounds: [][2]int{{1, 256}}, salts: true, text: salted(false, true), shape: byteSaltShape(true)},
		{name: "spread", form: "spread(e, … [, n])", about: "murmur3(e …) without sign, mod n, with leading zeros; two digits without n",
			joins: true, ints: [2]int{0, 1}, bounds: salt, text: compileSpread, shape: spreadShape},

		{name: "md5hex", form: "md5hex(e, …)", about: "MD5, 32 lower-case hex digits", joins: true, text: digest(md5Raw, true), shape: hexDigest(16)},
		{name: "md5raw", form: "md5raw(e, …)", about: "MD5, 16 bytes", joins: true, text: digest(md5Raw, false), shape: rawDigest(16)},
		{name: "sha1hex", form: "sha1hex(e, …)", about: "SHA-1, 40 hex digits", joins: true, text: digest(sha1Raw, true), shape: hexDigest(20)},
		{name: "sha1raw", form: "sha1raw(e, …)", about: "SHA-1, 20 bytes", joins: true, text: digest(sha1Raw, false), shape: rawDigest(20)},
		{name: "sha256hex", form: "sha256hex(e, …)", about: "SHA-256, 64 hex digits", joins: true, text: digest(sha256Raw, true), shape: hexDigest(32)},
		{name: "sha256raw", form: "sha256raw(e, …)", about: "SHA-256, 32 bytes", joins: true, text: digest(sha256Raw, false), shape: rawDigest(32)},
		{name: "crc32hex", form: "crc32hex(e, …)", about: "CRC-32, 8 hex digits", joins: true, text: digest(crc32Raw, true), shape: hexDigest(4)},
		{name: "crc32raw", form: "crc32raw(e, …)", about: "CRC-32, 4 bytes", joins: true, text: digest(crc32Raw, false), shape: rawDigest(4)},
		{name: "murmur3hex", form: "murmur3hex(e, …)", about: "murmur3, 8 hex digits", joins: true, text: digest(murmur3Raw, true), shape: hexDigest(4)},
		{name: "murmur3raw", form: "murmur3raw(e, …)", about: "murmur3, 4 bytes", joins: true, text: digest(murmur3Raw, false), shape: rawDigest(4)},
		{name: "md5shift", form: "md5shift(e, …)", about: "the first 7 hex digits of MD5 as a number, shifted right by one, 7 hex digits: the prefix for MD5StringSplit", joins: true, text: digest(md5Shift, false), shape: shiftShape},

		{name: "hash", form: "hash(e, …)", about: "Java's String.hashCode", joins: true, number: hashed(javaHash, true), numbers: always(hash32)},
		{name: "longhash", form: "longhash(i)", about: "Java's Long.hashCode", number: mapped(longHash), numbers: always(numbers{min: -1 << 31, max: 1<<31 - 1})},
		{name: "murmur3", form: "murmur3(e, …)", about: "MurmurHash3_x86_32 with seed 0", joins: true, number: hashed(func(b []byte) int64 { return int64(murmur3(b, 0)) }, false), numbers: always(hash32)},
		{name: "crc32", form: "crc32(e, …)", about: "CRC-32 without sign", joins: true, number: hashed(func(b []byte) int64 { return int64(crc32.ChecksumIEEE(b)) }, false), numbers: always(numbers{max: 1<<32 - 1, random: true, even: true})},
		{name: "mod", form: "mod(i, n)", about: "remainder, with the sign of i as in Java", ints: [2]int{1, 1}, bounds: [][2]int{{1, math.MaxInt}}, number: mapped(remainder), numbers: modNumbers},
		{name: "abs", form: "abs(i)", about: "absolute value", number: mapped(absolute), numbers: absNumbers},
		{name: "toshort", form: "toshort(i)", about: "the low 16 bits with their sign, Java's (short)", number: mapped(toShort), numbers: shortNumbers},
		{name: "number", form: "number(e)", about: "text as an integer: 007 becomes 7", number: mapped(identity), numbers: numberNumbers},
		{name: "millis", form: "millis(e, 'layout' [, 'zone'])", about: "a date as milliseconds since 1970; the zone is UTC unless given", consts: [2]int{1, 2}, check: checkMillis, number: compileMillis, numbers: millisNumbers},

		{name: "revtime", form: "revtime(i)", about: "Long.MAX_VALUE − i, 19 digits: the latest first", text: fromNumber(appendRevTime), shape: fixedShape(19, decimalDigits)},
		{name: "revtimeraw", form: "revtimeraw(i)", about: "the same as 8 bytes, big-endian", text: fromNumber(appendRevTimeRaw), shape: fixedShape(8, anyByte)},
		{name: "intbytes", form: "intbytes(i)", about: "4 bytes, big-endian, as Bytes.toBytes(int)", text: fromNumber(appendInt), shape: fixedShape(4, anyByte)},
		{name: "longbytes", form: "longbytes(i)", about: "8 bytes, big-endian, as Bytes.toBytes(long)", text: fromNumber(appendLong), shape: fixedShape(8, anyByte)},
		{name: "date", form: "date(e, 'from', 'to' [, 'zone'])", about: "a date in another layout", consts: [2]int{2, 3}, check: checkDate, text: compileDate, shape: dateShape},

		{name: "pad", form: "pad(e, width)", about: "zeros before the bytes, up to the width", ints: [2]int{1, 1}, bounds: [][2]int{{1, MaxKey}}, check: checkPad, text: fromText(pad, false), shape: padShape},
		{name: "reverse", form: "reverse(e)", about: "the characters backwards", text: fromText(reverse, true), shape: reverseShape},
		{name: "substr", form: "substr(e, from [, count])", about: "characters from the given one, counted from 0, or from the end if it is negative", ints: [2]int{1, 2},
			bounds: [][2]int{{-MaxKey, MaxKey}, {1, MaxKey}}, text: fromText(substr, true), shape: substrShape},
		{name: "upper", form: "upper(e)", about: "upper case", text: fromText(upper, true), shape: caseShape(upperByte)},
		{name: "lower", form: "lower(e)", about: "lower case", text: fromText(lower, true), shape: caseShape(lowerByte)},
		{name: "trim", form: "trim(e)", about: "without spaces and control characters at both ends", text: fromText(trim, false), shape: trimShape},
		{name: "hex", form: "hex(e)", about: "each byte as two lower-case hex digits", text: fromText(toHex, false), shape: hexShape},
		{name: "unhex", form: "unhex(e)", about: "the bytes that hex digits name", text: fromText(fromHex, false), shape: unhexShape},
		{name: "orempty", form: "orempty(column)", about: "the column, which may be empty; a record whose whole key is empty is bad", check: checkOrEmpty, text: compileOrEmpty, shape: orEmptyShape},
	}
}

func findFunction(name string) (function, bool) { return functionIn(functions(), name) }

func functionIn(list []function, name string) (function, bool) {
	i := slices.IndexFunc(list, func(f function) bool { return f.name == name })
	if i < 0 {
		return function{}, false
	}
	return list[i], true
}

func functionNames() []string {
	var names []string
	for _, f := range functions() {
		names = append(names, f.name)
	}
	return names
}

// argError is about one argument of a call, counted from 0; the integers
// come after the others.
type argError struct {
	arg int
	err error
}

func (e *argError) Error() string { return e.err.Error() }

func argErrorf(arg int, format string, args ...any) error {
	return &argError{arg, fmt.Errorf(format, args...)}
}

// verify checks the number and the kind of a call's arguments.
func (f function) verify(c Call) error {
	args := len(c.Args)
	switch {
	case args == 0:
		return fmt.Errorf("%s(…) has nothing to work on: it is written %s", f.name, f.form)
	case !f.joins && args > 1+f.consts[1] && f.consts[1] == 0:
		return argErrorf(1, "%s takes one argument, not %d (join them with +)", f.form, args)
	case !f.joins && (args < 1+f.consts[0] || args > 1+f.consts[1]):
		return fmt.Errorf("%s has %d arguments: it is written %s", f.name, args, f.form)
	}
	if !f.joins {
		for i, a := range c.Args[1:] {
			if _, ok := a.(Literal); !ok {
				return argErrorf(i+1, "%s is not a text in quotes: it is written %s", a, f.form)
			}
		}
	}
	if n := len(c.Ints); n < f.ints[0] || n > f.ints[1] {
		return fmt.Errorf("%s has %d numbers: it is written %s", f.name, n, f.form)
	}
	for i, n := range c.Ints {
		if b := f.bounds[i]; n < b[0] || n > b[1] {
			return argErrorf(args+i, "%d is outside %d..%d", n, b[0], b[1])
		}
	}
	if f.check != nil {
		return f.check(c)
	}
	return nil
}

func checkMillis(c Call) error {
	if _, err := parseLayout(constant(c.Args[1])); err != nil {
		return &argError{1, err}
	}
	return checkZone(c.Args, 2)
}

func checkDate(c Call) error {
	for i := 1; i <= 2; i++ {
		l, err := parseLayout(constant(c.Args[i]))
		if err == nil && i == 2 {
			err = l.checkOutput()
		}
		if err != nil {
			return &argError{i, err}
		}
	}
	return checkZone(c.Args, 3)
}

func checkZone(args []Expr, at int) error {
	if len(args) <= at {
		return nil
	}
	if _, err := newZone(constant(args[at])); err != nil {
		return &argError{at, err}
	}
	return nil
}

func checkOrEmpty(c Call) error {
	if _, ok := c.Args[0].(Column); !ok {
		return argErrorf(0, "orempty takes a column, not %s: write %s around the column itself", c.Args[0], "orempty(…)")
	}
	return nil
}

// checkPad rejects a pad that would fail for some results of a hash: they are negative, or too long for the width.
func checkPad(c Call) error {
	n, ok := numbersOf(c.Args[0], Options{})
	switch {
	case ok && n.min < 0 && n.random:
		return argErrorf(0, "%s can be negative, which zeros cannot pad: write abs(%s)", c.Args[0], c.Args[0])
	case ok && n.random && decimals(n.max) > c.Ints[0]:
		return argErrorf(0, "%s can have %d digits, more than the width %d", c.Args[0], decimals(n.max), c.Ints[0])
	}
	return nil
}
