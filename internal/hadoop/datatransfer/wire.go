package datatransfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// magic begins a SASL handshake, in place of a version.
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

// cipherOption is a CipherOptionProto. The DataNode encrypts with the out key and decrypts with the in key.
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
	b := frames.AppendBytes(frames.AppendNumber(nil, 1, uint64(m.status)), 2, m.payload)
	for _, c := range m.ciphers {
		b = frames.AppendBytes(b, 4, frames.AppendNumber(nil, 1, c.suite))
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
			frames.Into(data, frames.To{1: &c.suite, 2: &c.inKey, 3: &c.inIV, 4: &c.outKey, 5: &c.outIV})
			m.ciphers = append(m.ciphers, c)
		}
	})
	if !ok || !has {
		return m, errors.New("a message of a login is malformed")
	}
	return m, nil
}

// maxMessage limits a message of a login.
const maxMessage = 64 << 10

// readMessage reads a message and no byte beyond it: the following bytes are sealed.
func readMessage(r io.Reader) (m message, err error) {
	size, err := binary.ReadUvarint(oneByte{r})
	if err != nil {
		return m, err
	}
	if size > maxMessage {
		return m, fmt.Errorf("a message of a login of %d bytes is longer than %d", size, maxMessage)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return m, err
	}
	return parseMessage(data)
}

// oneByte reads single bytes.
type oneByte struct{ r io.Reader }

func (o oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(o.r, b[:])
	return b[0], err
}
