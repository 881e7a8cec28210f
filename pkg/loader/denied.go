package loader

import (
	"fmt"
	"strings"
)

// A DeniedError is the error of a call that HBase's access control denies the user.
type DeniedError struct {
	User  string
	Right string
	Grant string // the statement of HBase's shell that gives the right
	Err   error  // HBase's exception
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("user %s needs the right %s: %s in HBase's shell", e.User, e.Right, e.Grant)
}

func (e *DeniedError) Unwrap() error { return e.Err }

// denied returns an exception of HBase's access control as a [DeniedError], with the right that the call needs, and a grant of rights,
// letters of RWXCA, on a table, on a table and a family, on @NAMESPACE, or everywhere. It returns any other error unchanged.
func (c *Cluster) denied(err error, right, rights string, on ...string) error {
	if !isJava(err, "AccessDeniedException") {
		return err
	}
	return c.lacking(err, right, rights, on...)
}

// lacking returns the [DeniedError] for an error that is known to be of access control.
func (c *Cluster) lacking(err error, right, rights string, on ...string) error {
	words := append([]string{c.cfg.Owner, rights}, on...)
	return &DeniedError{User: c.cfg.EffectiveUser, Right: right, Grant: "grant '" + strings.Join(words, "', '") + "'", Err: err}
}
