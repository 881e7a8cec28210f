package dfs

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"bulkload/internal/hadoop/datatransfer"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
)

// addressed is a connection to a port. It keeps what is written, and ends at the first read.
type addressed struct {
	net.Conn
	port    int
	written bytes.Buffer
}

func (a *addressed) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.port}
}
func (a *addressed) Write(p []byte) (int, error) { return a.written.Write(p) }
func (a *addressed) Read([]byte) (int, error)    { return 0, io.EOF }

// TestLoginByPort checks which connections begin with a login, in the order of SaslDataTransferClient.send: all encrypted ones, then none
// without Kerberos, none to a privileged port whatever protection is configured, and all others.
func TestLoginByPort(t *testing.T) {
	const encrypted, secure = true, true
	privacy := []kerberos.Quality{kerberos.Privacy}
	for _, tt := range []struct {
		encrypted, secure bool
		data              []kerberos.Quality
		port              int
		want              bool
	}{
		{encrypted, secure, privacy, 1004, true},
		{encrypted, secure, nil, 1004, true},
		{encrypted, !secure, nil, 1004, true},
		{encrypted, !secure, nil, 9866, true},
		{!encrypted, !secure, privacy, 1004, false},
		{!encrypted, !secure, privacy, 9866, false},
		{!encrypted, secure, privacy, 1004, false},
		{!encrypted, secure, privacy, 1023, false},
		{!encrypted, secure, nil, 1004, false},
		{!encrypted, secure, privacy, 1024, true},
		{!encrypted, secure, privacy, 9866, true},
		{!encrypted, secure, nil, 9866, true},
	} {
		c := ready(t)
		c.key = dataKey{&datatransfer.Key{}, time.Now().Add(time.Hour)}
		if c.options.Data = tt.data; tt.secure {
			c.options.Login = &hadooprpc.Options{}
		}
		nc := &addressed{port: tt.port}
		got, err := c.secure(t.Context(), &PatientConn{plain{nc}, time.Minute}, Block{}, tt.encrypted)
		if login := bytes.HasPrefix(nc.written.Bytes(), []byte("\xde\xad\xbe\xef")); login != tt.want || login == (err == nil) || login == (got != nil) || !login && nc.written.Len() > 0 {
			t.Errorf("%+v: wrote %x, %v", tt, nc.written.Bytes(), err)
		}
	}
}

// plain is a connection without deadlines.
type plain struct{ net.Conn }

func (plain) SetReadDeadline(time.Time) error  { return nil }
func (plain) SetWriteDeadline(time.Time) error { return nil }
