package hdfsio

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
)

// TestRefusedLogins checks that refused logins are not retried and that broken
// connections are.
func TestRefusedLogins(t *testing.T) {
	for _, err := range []error{&kerberos.MismatchError{}, hadooprpc.ErrSimple, kerberos.ErrUnknownService, kerberos.ErrExpired, &hadooprpc.PrincipalError{Key: "k", Err: io.EOF}} {
		if transient(fmt.Errorf("namenode: %w", err)) {
			t.Errorf("%v is tried again", err)
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, kerberos.ErrNoKDC, kerberos.ErrNotRenewed, errors.New("something else")} {
		if !transient(fmt.Errorf("namenode: %w", err)) {
			t.Errorf("%v is not tried again", err)
		}
	}
}
