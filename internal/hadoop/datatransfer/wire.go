package datatransfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Operations whose request has a block token (Op, Hadoop 3.4), after version 28 of the protocol.
const (
	opWriteBlock    = 80
	opReadBlock     = 81
	opBlockChecksum = 85
)

// magic begins a conversation of SASL in place of a version.
const magic = 0xdeadbeef

// status is a DataTransferEncryptorStatus.
type status uint64

const (
	statusSuccess    status = 0
	statusUnknownKey status = 1
	statusError      status = 2
	statusBadToken   status = 3 // ERROR_ACCESS_TOKEN
)

// cipherAES is AES_CTR_NOPADDING of CipherSuiteProto.
const cipherAES = 2

// cipherOption is a CipherOptionProto: what a DataNode writes is encrypted by the out key, what it reads by the in key.
type cipherOption struct {
	suite                      uint64
	inKey, inIV, outKey, outIV []byte
}

// message is a DataTransferEncryptorMessageProto.
type message struct {
	status  status
	payload []byte
	text    string
	ciphers []cipherOption
}

func (m *message) append(dst []byte) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(m.status))
	b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), m.payload)
	for _, c := range m.ciphers {
		option := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), c.suite)
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), option)
	}
	return protowire.AppendBytes(dst, b)
}

func parseMessage(data []byte) (m message, err error) {
	has := false
	ok := frames.Fields(data, func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 1:
			m.status, has = status(number), true
		case 2:
			m.payload = data
		case 3:
			m.text = string(data)
		case 4:
			var c cipherOption
			frames.Fields(data, func(field protowire.Number, number uint64, data []byte) {
				switch field {
				case 1:
					c.suite = number
				case 2:
					c.inKey = data
				case 3:
					c.inIV = data
				case 4:
					c.outKey = data
				case 5:
					c.outIV = data
				}
			})
			m.ciphers = append(m.ciphers, c)
		}
	})
	if !ok || !has {
		return m, errors.New("a message of a login is malformed")
	}
	return m, nil
}

// mostMessage bounds a message of a login.
const mostMessage = 64 << 10

// readMessage reads one, and no byte more: what follows is sealed.
func readMessage(r io.Reader) (m message, err error) {
	size, err := binary.ReadUvarint(oneByte{r})
	if err != nil {
		return m, err
	}
	if size > mostMessage {
		return m, fmt.Errorf("a message of a login of %d bytes is longer than %d", size, mostMessage)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return m, err
	}
	return parseMessage(data)
}

// oneByte reads byte by byte.
type oneByte struct{ r io.Reader }

func (o oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(o.r, b[:])
	return b[0], err
}

// blockToken is what a request says of its block.
type blockToken struct {
	pool       string
	identifier []byte
	password   []byte
}

// parseRequest finds the token in the beginning of what a client writes to a DataNode. whole is false while the request is
// not.
func parseRequest(p []byte) (t blockToken, whole bool, err error) {
	const head = 3 // version and operation
	if len(p) < head {
		return t, false, nil
	}
	op := p[2]
	if p[0] != 0 || p[1] != 28 || op != opReadBlock && op != opWriteBlock && op != opBlockChecksum {
		return t, false, fmt.Errorf("operation %d of version %d has no block token that is known", op, binary.BigEndian.Uint16(p))
	}
	length, n := protowire.ConsumeVarint(p[head:])
	switch {
	case n < 0 && len(p)-head < binary.MaxVarintLen64:
		return t, false, nil
	case n < 0 || length > mostMessage:
		return t, false, errors.New("a request is malformed")
	case uint64(len(p)-head-n) < length:
		return t, false, nil
	}
	h, ok := field(p[head+n:head+n+int(length)], 1)
	if ok && op != opBlockChecksum {
		h, ok = field(h, 1) // of a ClientOperationHeaderProto
	}
	block, ok1 := field(h, 1)
	token, ok2 := field(h, 2)
	pool, ok3 := field(block, 1)
	if !ok || !ok1 || !ok2 || !ok3 {
		return t, false, errors.New("a request has no block token")
	}
	t.pool = string(pool)
	t.identifier, _ = field(token, 1)
	t.password, _ = field(token, 2)
	return t, true, nil
}

// field is a field of bytes in a message.
func field(m []byte, number protowire.Number) (value []byte, found bool) {
	frames.Fields(m, func(n protowire.Number, _ uint64, data []byte) {
		if n == number && data != nil {
			value, found = data, true
		}
	})
	return value, found
}
