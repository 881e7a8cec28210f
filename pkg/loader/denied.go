package loader

import "fmt"

// A DeniedError is a call that HBase's access control does not let the user make.
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

// denied is an exception of HBase's access control as a [DeniedError], with the right that the call takes, and a grant of rights,
// letters of RWXCA, on a table, on @NAMESPACE, or everywhere if on is empty. Any other error is given back as it is.
func (c *Cluster) denied(err error, right, rights, on string) error {
	if !isJava(err, "AccessDeniedException") {
		return err
	}
	grant := fmt.Sprintf("grant '%s', '%s'", c.cfg.Owner, rights)
	if on != "" {
		grant += fmt.Sprintf(", '%s'", on)
	}
	return &DeniedError{User: c.cfg.EffectiveUser, Right: right, Grant: grant, Err: err}
}
