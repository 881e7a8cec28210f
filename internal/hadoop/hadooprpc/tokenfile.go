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

// EnvTokenFile names the file that a container's tokens are in.
const EnvTokenFile = "HADOOP_TOKEN_FILE_LOCATION"

// mostTokenFile bounds a file of tokens, in bytes: a token takes a few hundred.
const mostTokenFile = 1 << 20

// ReadTokens reads a file of tokens as Hadoop's Credentials.writeTokenStorageToStream writes it: "HDTS", a zero byte, the
// number of tokens, and for each its alias, identifier, password, kind and service, each after its length. Secrets follow
// them, see [ReadSecret]. Numbers are Hadoop's variable ones (WritableUtils.writeVInt). A file of the other form, of protobuf, is
// refused.
func ReadTokens(path string) ([]*kerberos.Token, error) {
	data, err := readTokenFile(path)
	if err != nil {
		return nil, err
	}
	tokens, _, err := parseTokens(data)
	if err != nil {
		return nil, fmt.Errorf("tokens in %s: %w", path, err)
	}
	return tokens, nil
}

func readTokenFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostTokenFile+1))
}

// parseTokens gives the tokens, and a reader of what follows them.
func parseTokens(data []byte) ([]*kerberos.Token, *tokenReader, error) {
	if len(data) > mostTokenFile {
		return nil, nil, fmt.Errorf("more than %d bytes", mostTokenFile)
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

// ReadSecret reads a secret of a file of tokens, which follow them as [AppendSecrets] writes them; nil if it has none of the name.
func ReadSecret(path, name string) ([]byte, error) {
	data, err := readTokenFile(path)
	if err != nil {
		return nil, err
	}
	_, r, err := parseTokens(data)
	if err != nil {
		return nil, fmt.Errorf("tokens in %s: %w", path, err)
	}
	var secret []byte
	for n := r.number(); n > 0 && !r.short; n-- {
		if alias, value := r.field(), r.field(); string(alias) == name {
			secret = value
		}
	}
	if r.short {
		return nil, fmt.Errorf("secrets in %s are torn at byte %d of %d", path, r.at, len(data))
	}
	return secret, nil
}

// AppendSecrets appends a file of no tokens and of these secrets, by their names.
func AppendSecrets(dst []byte, secrets map[string][]byte) []byte {
	dst = appendNumber(append(dst, "HDTS\x00\x00"...), len(secrets))
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		dst = appendField(appendField(dst, []byte(name)), secrets[name])
	}
	return dst
}

// tokenReader stays short at the first thing that is not there.
type tokenReader struct {
	data  []byte
	at    int
	short bool
}

// number reads a VInt: one byte from −112 to 127, or −113 − bytes of a positive number, which follows with the highest first.
// A negative one is short, since none has a place here.
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

// AppendWritable appends a token as Hadoop's Token.write writes it: identifier, password, kind and service, each after its length
// (WritableUtils.writeVInt). In base64 it is what Hadoop's web servers take.
func AppendWritable(dst []byte, t *kerberos.Token) []byte {
	for _, field := range [][]byte{t.Identifier, t.Password, []byte(t.Kind), []byte(t.Service)} {
		dst = appendField(dst, field)
	}
	return dst
}

// appendField appends bytes after their length.
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
