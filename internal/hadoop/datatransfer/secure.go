package datatransfer

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/sasl"
	"bulkload/pkg/kerberos"
)

// Key opens an encrypted connection to any DataNode of a block pool. It is a secret.
type Key struct {
	ID    uint32
	Pool  string
	Nonce []byte
	Key   []byte
}

// Options are the protection settings of connections to DataNodes.
type Options struct {
	// Key is the key for encrypted data, nil if data is not encrypted: then the block token of the request is used.
	Key *Key
	// Qualities are the configured qualities of protection, the preferred one first. None: the strongest that the DataNode
	// offers.
	Qualities []kerberos.Quality
	// QualityKey is the configuration key of Qualities, for errors.
	QualityKey string
	// UnknownKey is called if a DataNode does not know Key. It may be nil.
	UnknownKey func()
}

// Errors that callers handle.
var (
	// ErrUnknownKey reports that the DataNode does not know the key for encrypted data: the key is too old, or the DataNode
	// has just started. The caller should request a new key.
	ErrUnknownKey = errors.New("the DataNode does not know the key for encrypted data")
	// ErrToken reports that the DataNode refuses the block token because it is too old. Locating the blocks again gives new
	// tokens.
	ErrToken = errors.New("the DataNode refuses the block token")
)

// conn is a connection to a DataNode after the login.
type conn struct {
	net.Conn
	out io.Writer
	in  io.Reader
}

// LogIn authenticates the client with a block's token (TokenProto) or with the key for encrypted data. Afterwards the
// connection is protected as both sides have agreed; one goroutine may use Read and one Write.
func LogIn(nc net.Conn, token []byte, o Options) (net.Conn, error) {
	c := &conn{Conn: nc}
	if err := c.logIn(token, o); err != nil {
		return nil, fmt.Errorf("login at DataNode: %w", err)
	}
	return c, nil
}

func (c *conn) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *conn) Read(p []byte) (int, error)  { return c.in.Read(p) }

// logIn performs the login (SaslDataTransferClient.doSaslHandshake).
func (c *conn) logIn(token []byte, o Options) error {
	identifier, _ := frames.Bytes(token, 1)
	password, _ := frames.Bytes(token, 2)
	who := sasl.TokenCredentials(identifier, password)
	if k := o.Key; k != nil {
		// Java formats the number as signed.
		who.Name = strconv.Itoa(int(int32(k.ID))) + " " + k.Pool + " " + base64.StdEncoding.EncodeToString(k.Nonce)
		who.Password = base64.StdEncoding.EncodeToString(k.Key)
	}
	client := sasl.DigestMD5(who, "hdfs", "0", o.Qualities)
	first := message{payload: []byte{}}
	if _, err := c.Conn.Write(first.append(binary.BigEndian.AppendUint32(nil, magic))); err != nil {
		return err
	}
	challenge, err := c.answer(o)
	if err != nil {
		return err
	}
	response := message{}
	if response.payload, err = client.Step(challenge.payload); err != nil {
		if m, ok := errors.AsType[*kerberos.MismatchError](err); ok {
			return fmt.Errorf("protection of data transfer: %w (%s)", m, o.QualityKey)
		}
		return err
	}
	layer := client.Layer()
	if layer.Quality() == kerberos.Privacy {
		response.ciphers = []cipherOption{{suite: cipherAES}}
	}
	if _, err := c.Conn.Write(response.append(nil)); err != nil {
		return err
	}
	last, err := c.answer(o)
	if err != nil {
		return err
	}
	if _, err := client.Step(last.payload); err != nil {
		return err
	}
	return c.protect(layer, last.ciphers)
}

// answer reads a message, and returns an error if it is a refusal.
func (c *conn) answer(o Options) (message, error) {
	m, err := readMessage(c.Conn)
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET):
		return m, fmt.Errorf("the DataNode ends the connection (does it want a login? see dfs.data.transfer.protection and its port): %w", err)
	case err != nil:
		return m, err
	case m.status == statusUnknownKey:
		if o.UnknownKey != nil {
			o.UnknownKey()
		}
		return m, ErrUnknownKey
	case m.status == statusBadToken:
		return m, ErrToken
	case m.status != statusSuccess:
		return m, fmt.Errorf("the DataNode refuses: %s", m.text)
	}
	return m, nil
}

// protect sets up the connection with AES, the SASL layer, or no protection.
func (c *conn) protect(layer sasl.Layer, ciphers []cipherOption) error {
	switch {
	case layer.Quality() == kerberos.Authentication:
		c.in, c.out = c.Conn, c.Conn
		return nil
	case layer.Quality() == kerberos.Integrity || len(ciphers) == 0:
		s := &sasl.Sealed{Conn: c.Conn, Layer: layer, Most: maxPiece}
		c.in, c.out = s, s
		return nil
	}
	o := ciphers[0]
	if o.suite != cipherAES {
		return fmt.Errorf("the DataNode chooses cipher suite %d, which was not offered", o.suite)
	}
	// The keys were sealed in order, the in key first.
	inKey, err := layer.Open(o.inKey)
	if err != nil {
		return err
	}
	inKey = append([]byte(nil), inKey...)
	outKey, err := layer.Open(o.outKey)
	if err != nil {
		return err
	}
	out, err := ctr(inKey, o.inIV)
	if err != nil {
		return err
	}
	in, err := ctr(outKey, o.outIV)
	if err != nil {
		return err
	}
	c.in = cipher.StreamReader{S: in, R: c.Conn}
	c.out = &encrypter{s: out, w: c.Conn}
	return nil
}

func ctr(key, iv []byte) (cipher.Stream, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the DataNode's key for AES has %d bytes", len(key))
	}
	if len(iv) != aes.BlockSize {
		return nil, fmt.Errorf("the DataNode's initialization vector has %d bytes", len(iv))
	}
	return cipher.NewCTR(b, iv), nil
}

// encrypter encrypts written bytes, without changing the caller's slice.
type encrypter struct {
	s   cipher.Stream
	w   io.Writer
	buf []byte
}

func (e *encrypter) Write(p []byte) (int, error) {
	if cap(e.buf) < len(p) {
		e.buf = make([]byte, len(p))
	}
	b := e.buf[:len(p)]
	e.s.XORKeyStream(b, p)
	return e.w.Write(b)
}

// maxPiece limits a sealed piece: no server has a larger buffer.
const maxPiece = 1 << 24

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
