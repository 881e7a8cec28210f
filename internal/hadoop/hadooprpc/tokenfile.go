package hadooprpc

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"slices"

	"bulkload/pkg/kerberos"
)

// maxTokenFile limits a token file, in bytes: a token takes a few hundred.
const maxTokenFile = 1 << 20

// ReadTokens reads a token file in the format of Hadoop's Credentials.writeTokenStorageToStream: "HDTS", a zero byte, the number
// of tokens, and for each its alias, identifier, password, kind and service, each preceded by its length. Secrets follow, see
// [ReadSecret]. Numbers are Hadoop's variable-length integers (WritableUtils.writeVInt). A file in the other format, protobuf, is
// refused.
func ReadTokens(path string) ([]*kerberos.Token, error) {
	tokens, _, err := readTokenFile(path)
	return tokens, err
}

// readTokenFile returns the tokens of a file, and a reader of the bytes after them.
func readTokenFile(path string) ([]*kerberos.Token, *tokenReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, nil, err
	}
	tokens, rest, err := parseTokens(data)
	if err != nil {
		return nil, nil, fmt.Errorf("tokens in %s: %w", path, err)
	}
	return tokens, rest, nil
}

// parseTokens returns the tokens, and a reader of the bytes after them.
func parseTokens(data []byte) ([]*kerberos.Token, *tokenReader, error) {
	if len(data) > maxTokenFile {
		return nil, nil, fmt.Errorf("more than %d bytes", maxTokenFile)
	}
	if len(data) < 5 || string(data[:4]) != "HDTS" {
		return nil, nil, errors.New("the file does not begin as one of Hadoop's tokens")
	}
	switch data[4] {
	case 0:
	case 1:
		return nil, nil, errors.New("the file has the form of protobuf, which Hadoop's containers do not get")
	default:
		return nil, nil, fmt.Errorf("the file has version %d, which is not known", data[4])
	}
	r := &tokenReader{data: data, at: 5}
	n := r.number()
	if r.short || n > len(data) {
		return nil, nil, fmt.Errorf("%d tokens in %d bytes", n, len(data))
	}
	var tokens []*kerberos.Token
	for range n {
		r.field() // the alias
		t := &kerberos.Token{Identifier: r.field(), Password: r.field()}
		t.Kind, t.Service = string(r.field()), string(r.field())
		if r.short {
			return nil, nil, fmt.Errorf("token %d of %d is torn at byte %d of %d", len(tokens)+1, n, r.at, len(data))
		}
		tokens = append(tokens, t)
	}
	return tokens, r, nil
}

// ReadSecret reads a secret of a token file in the format of [AppendSecrets]; nil if there is none with the name.
func ReadSecret(path, name string) ([]byte, error) {
	_, r, err := readTokenFile(path)
	if err != nil {
		return nil, err
	}
	var secret []byte
	for n := r.number(); n > 0 && !r.short; n-- {
		if alias, value := r.field(), r.field(); string(alias) == name {
			secret = value
		}
	}
	if r.short {
		return nil, fmt.Errorf("secrets in %s are torn at byte %d of %d", path, r.at, len(r.data))
	}
	return secret, nil
}

// AppendSecrets appends a file with no tokens and the given secrets by name.
func AppendSecrets(dst []byte, secrets map[string][]byte) []byte {
	dst = appendNumber(append(dst, "HDTS\x00\x00"...), len(secrets))
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		dst = appendField(appendField(dst, []byte(name)), secrets[name])
	}
	return dst
}

// tokenReader reads fields; short is set once bytes are missing or a number is invalid.
type tokenReader struct {
	data  []byte
	at    int
	short bool
}

// number reads a VInt: one byte from −112 to 127, or −112 minus the number of bytes of a positive number, which follows in
// big-endian order. A negative number sets short, since none is valid here.
func (r *tokenReader) number() int {
	if r.short || r.at >= len(r.data) {
		r.short = true
		return 0
	}
	first := int8(r.data[r.at])
	r.at++
	if first >= -112 {
		if first < 0 {
			r.short = true
			return 0
		}
		return int(first)
	}
	size := -112 - int(first)
	if size > 4 || len(r.data)-r.at < size {
		r.short = true
		return 0
	}
	n := 0
	for _, b := range r.data[r.at : r.at+size] {
		n = n<<8 | int(b)
	}
	r.at += size
	return n
}

// field returns a copy of the next field.
func (r *tokenReader) field() []byte {
	n := r.number()
	if r.short || n > len(r.data)-r.at {
		r.short = true
		return nil
	}
	r.at += n
	return append([]byte(nil), r.data[r.at-n:r.at]...)
}

// AppendWritable appends a token in the format of Hadoop's Token.write: identifier, password, kind and service, each preceded by
// its length (WritableUtils.writeVInt). Hadoop's web servers accept it in base64.
func AppendWritable(dst []byte, t *kerberos.Token) []byte {
	for _, field := range [][]byte{t.Identifier, t.Password, []byte(t.Kind), []byte(t.Service)} {
		dst = appendField(dst, field)
	}
	return dst
}

// appendField appends bytes preceded by their length.
func appendField(dst, field []byte) []byte { return append(appendNumber(dst, len(field)), field...) }

// appendNumber appends a VInt that is not negative.
func appendNumber(dst []byte, number int) []byte {
	n := uint32(number)
	if n <= 127 {
		return append(dst, byte(n))
	}
	size := (bits.Len32(n) + 7) / 8
	dst = append(dst, byte(-112-size))
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}
