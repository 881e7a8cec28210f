package hadooprpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Call numbers with a special meaning (RpcConstants, Hadoop 3.4).
const (
	callContext = -3
	callSASL    = -33
)

// header is the start of a connection: "hrpc", version 9, service class 0; the login method follows.
const (
	headerLen = 7
	header    = "hrpc\x09\x00"

	bySASL = "\xdf"
)

// state is an RpcSaslProto.SaslState.
type state uint64

const (
	stateSuccess   state = 0
	stateNegotiate state = 1
	stateInitiate  state = 2
	stateChallenge state = 3
	stateResponse  state = 4
	stateWrap      state = 5
)

func (s state) String() string {
	names := []string{"SUCCESS", "NEGOTIATE", "INITIATE", "CHALLENGE", "RESPONSE", "WRAP"}
	if s < state(len(names)) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint64(s))
}

// login is an RpcSaslProto.SaslAuth: a login method.
type login struct {
	method, mechanism, protocol, server string
	challenge                           []byte
}

// saslMessage is an RpcSaslProto.
type saslMessage struct {
	state  state
	token  []byte
	logins []login
}

func (m *saslMessage) append(dst []byte) []byte {
	dst = frames.AppendNumber(dst, 2, uint64(m.state))
	if m.token != nil {
		dst = frames.AppendBytes(dst, 3, m.token)
	}
	for _, l := range m.logins {
		dst = frames.AppendBytes(dst, 4, frames.AppendEach(nil, l.method, l.mechanism, l.protocol, l.server))
	}
	return dst
}

func parseSASL(message []byte) (m saslMessage, err error) {
	has := false
	ok := frames.Fields(message, func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 2:
			m.state, has = state(number), true
		case 3:
			m.token = data
		case 4:
			var l login
			frames.Into(data, frames.To{1: &l.method, 2: &l.mechanism, 3: &l.protocol, 4: &l.server, 5: &l.challenge})
			m.logins = append(m.logins, l)
		}
	})
	if !ok || !has {
		return m, errors.New("a message of SASL is malformed")
	}
	return m, nil
}

// appendPacket appends a packet: its length, and messages each preceded by its length.
func appendPacket(dst []byte, messages ...[]byte) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, m := range messages {
		dst = protowire.AppendBytes(dst, m)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// requestHeader returns an RpcRequestHeaderProto.
func requestHeader(call int32, client []byte) []byte {
	h := frames.AppendNumber(nil, 1, 2) // RPC_PROTOCOL_BUFFER
	h = frames.AppendNumber(h, 2, 0)    // RPC_FINAL_PACKET
	h = frames.AppendNumber(h, 3, protowire.EncodeZigZag(int64(call)))
	h = frames.AppendBytes(h, 4, client)
	return frames.AppendNumber(h, 5, protowire.EncodeZigZag(-1))
}

// connectionContext returns an IpcConnectionContextProto. user is empty if the login names the acting
// user.
func connectionContext(user, protocol string) []byte {
	var c []byte
	if user != "" {
		c = frames.AppendBytes(c, 2, frames.AppendBytes(nil, 1, user))
	}
	return frames.AppendBytes(c, 3, protocol)
}

// Error is a server's exception in response to a call.
type Error struct {
	Class   string // of the exception
	Message string
	Fatal   bool // the server closes the connection
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// answer is a packet from a server.
type answer struct {
	call int32
	body []byte // after the header
}

// parseAnswer parses a packet without its length.
func parseAnswer(packet []byte) (a answer, err error) {
	head, n := protowire.ConsumeBytes(packet)
	if n < 0 {
		return a, errors.New("an answer is malformed")
	}
	a.body = packet[n:]
	var call, status uint64
	e := new(Error)
	if !frames.Into(head, frames.To{1: &call, 2: &status, 4: &e.Class, 5: &e.Message}) {
		return a, errors.New("the header of an answer is malformed")
	}
	a.call = int32(uint32(call))
	if status != 0 {
		e.Fatal = status == 2
		return a, e
	}
	return a, nil
}

// maxAnswer limits a packet, as ipc.maximum.response.length does by default.
const maxAnswer = 128 << 20

// readPacket reads a packet preceded by its length, into buf if it is large enough.
func readPacket(r io.Reader, buf []byte, most uint32) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > most {
		return nil, &frames.Error{Size: n, Why: fmt.Sprintf("is longer than %d bytes", most)}
	}
	buf = slices.Grow(buf[:0], int(n))[:n]
	_, err := io.ReadFull(r, buf)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return buf, err
}
