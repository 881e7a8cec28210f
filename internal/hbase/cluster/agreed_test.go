package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// nameNode starts a server that implements the part of Hadoop's RPC that askNameNode uses: it offers authentication
// methods, none for simple authentication, and answers calls by name.
func nameNode(t *testing.T, methods []string, answers map[string][]byte) hdfsio.Location {
	t.Helper()
	l := testcheck.Serve(t, func(nc net.Conn) { serve(nc, methods, answers) })
	return hdfsio.Location{Scheme: "hdfs", Authority: l.Addr().String(), Addresses: []string{l.Addr().String()}}
}

func serve(nc net.Conn, methods []string, answers map[string][]byte) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	begin := make([]byte, 7)
	if _, err := io.ReadFull(r, begin); err != nil {
		return
	}
	sasl := begin[6] == 0xdf
	number := func(dst []byte, field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
	}
	answer := func(call int32, body []byte) {
		h := number(number(nil, 1, uint64(uint32(call))), 2, 0)
		frame := protowire.AppendBytes(protowire.AppendBytes(nil, h), body)
		nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		if sasl {
			state := uint64(0)
			if len(methods) > 0 {
				state = 1
			}
			m := number(nil, 2, state)
			for _, name := range methods {
				var way []byte
				for field, text := range []string{name, "GSSAPI", "nn", "localhost"} {
					way = protowire.AppendString(protowire.AppendTag(way, protowire.Number(field+1), protowire.BytesType), text)
				}
				m = protowire.AppendBytes(protowire.AppendTag(m, 4, protowire.BytesType), way)
			}
			answer(-33, m)
			continue
		}
		head, n := protowire.ConsumeBytes(frame)
		var call int32
		frames.Fields(head, func(field protowire.Number, v uint64, _ []byte) {
			if field == 3 {
				call = int32(protowire.DecodeZigZag(v))
			}
		})
		if call < 0 {
			continue // the connection's context
		}
		what, m := protowire.ConsumeBytes(frame[n:])
		request, _ := protowire.ConsumeBytes(frame[n+m:])
		var method string
		frames.Fields(what, func(field protowire.Number, _ uint64, data []byte) {
			if field == 1 {
				method = string(data)
			}
		})
		frames.Fields(request, func(field protowire.Number, _ uint64, data []byte) {
			if field == 1 {
				method += " " + string(data)
			}
		})
		answer(call, answers[method])
	}
}

// message returns a message with one field, or the bytes of that field within others.
func message(field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), data)
}

// TestAskNameNode queries servers with simple authentication and with Kerberos.
func TestAskNameNode(t *testing.T) {
	answers := map[string][]byte{"getServerDefaults": message(1, protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), 1))}
	env := &Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	env.Conf.Set("hadoop.security.authentication", "simple", "test")
	n, err := env.AskNameNode(t.Context(), nameNode(t, nil, answers))
	if err != nil || len(n.Methods) != 0 || n.RPC != 0 || !n.DataEncrypted {
		t.Errorf("%+v, %v", n, err)
	}
	secured := nameNode(t, []string{"TOKEN", "KERBEROS"}, nil)
	if _, err := env.AskNameNode(t.Context(), secured); !errors.Is(err, hdfsio.ErrSecured) || !strings.Contains(err.Error(), secured.Authority) {
		t.Errorf("a secured server, simple configuration: %v", err)
	}
	for name, bad := range map[string][]byte{"no message": {0xff}, "half a field": {0x0a, 0x7f, 1}} {
		if _, err := env.AskNameNode(t.Context(), nameNode(t, nil, map[string][]byte{"getServerDefaults": bad})); !errors.Is(err, errAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	silent := testcheck.Serve(t, func(nc net.Conn) {
		cancel(cause)
		io.Copy(io.Discard, nc)
	})
	if _, err := env.AskNameNode(ctx, hdfsio.Location{Addresses: []string{silent.Addr().String()}}); err == nil {
		t.Error("a server that is silent")
	}
}
