package query

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/setting"

	"github.com/cespare/xxhash/v2"
)

// A page token holds the position in the merged order at which a page ended, and a hash of the query. It names a row,
// not a position in a region, so that regions may split or move between pages.
//
// 1 byte version · 8 bytes hash of the query · uvarint length of the head · head · key
const pageVersion = 1

var (
	errPage       = errors.New("this is not a page token of this program")
	errOtherQuery = errors.New("it is of another query: table, key, range and modulus must be those of the page before")
)

func (p position) token(question uint64) string {
	b := []byte{pageVersion}
	b = binary.LittleEndian.AppendUint64(b, question)
	b = binary.AppendUvarint(b, uint64(len(p.head)))
	b = append(append(b, p.head...), p.key...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePage parses a token. The caller compares the query's hash.
func parsePage(token string) (p position, question uint64, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 10 || b[0] != pageVersion {
		return p, 0, errPage
	}
	question = binary.LittleEndian.Uint64(b[1:])
	n, width := binary.Uvarint(b[9:])
	if width <= 0 || n > uint64(len(b)-9-width) {
		return p, 0, errPage
	}
	b = b[9+width:]
	return position{head: b[:n:n], key: b[n:]}, question, nil
}

// questionHash returns a hash of everything that determines the rows of a scan and their order.
func questionHash(parts ...[]byte) uint64 {
	h := xxhash.New()
	var n [binary.MaxVarintLen64]byte
	for _, p := range parts {
		// Write of a Digest returns no error
		_, _ = h.Write(n[:binary.PutUvarint(n[:], uint64(len(p)))])
		_, _ = h.Write(p)
	}
	return h.Sum64()
}

// page returns the position at which the previous page ended, or nil for the first page.
func (r *reading) page(token string) (*position, error) {
	if token == "" {
		return nil, nil
	}
	p, hash, err := parsePage(token)
	if err == nil && hash != r.hash {
		err = errOtherQuery
	}
	if err != nil {
		return nil, fail.Errorf(fail.Config, "%s %q: %w", setting.Page, token, &PageError{err})
	}
	return &p, nil
}

// after returns the token that follows a row of the query. Its head is the one in whose range it is.
func (r *reading) after(row []byte) (string, error) {
	for _, head := range r.keys.Heads {
		if (keyrange.Range{Start: r.keys.Start(head), Stop: r.keys.Stop(head)}).Has(row) {
			return position{head, row[len(head):]}.token(r.hash), nil
		}
	}
	return "", fail.With(fail.Load, ErrRegionsChanged)
}

// PageError is the error of an invalid page token, or of a token of another query.
type PageError struct{ Err error }

func (e *PageError) Error() string { return e.Err.Error() }
func (e *PageError) Unwrap() error { return e.Err }
