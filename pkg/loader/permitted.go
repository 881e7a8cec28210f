package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/setting"
)

// Right is an action of HBase's access control.
type Right int

// The rights that jobs need, by their numbers in AccessControl.proto (Permission.Action).
const (
	Read  Right = 0
	Admin Right = 4
)

func (r Right) String() string {
	return setting.Word("Right", r, "READ", "", "", "", "ADMIN")
}

// Fields of AccessControl.proto of HBase 2, which gohbase lacks.
const (
	userPermission      = 2 // HasUserPermissionsRequest.permission
	permissionType      = 1 // Permission.type
	permissionGlobal    = 2 // .global_permission
	permissionNamespace = 3 // .namespace_permission
	permissionTable     = 4 // .table_permission
	globalPermission    = 1 // a value of Permission.type
	namespacePermission = 2 // likewise
	tablePermission     = 3 // likewise
	globalAction        = 1 // GlobalPermission.action
	permittedNamespace  = 1 // NamespacePermission.namespace_name
	namespaceAction     = 2 // .action
	permittedTable      = 1 // TablePermission.table_name
	tableFamily         = 2 // .family
	tableAction         = 4 // .action
	hasUserPermission   = 1 // HasUserPermissionsResponse.has_user_permission
)

// MayRead returns a [DeniedError] if the user may not read all cells of these families of a table. A read of several families silently
// omits the families that the user may not read (AccessController.preGetOp, 2.6.4), so each family is read separately, in a row that no job
// writes. A user with the right on single columns passes this test.
func (c *Cluster) MayRead(ctx context.Context, table TableName, families ...string) error {
	var refused []string
	var err error
	for _, family := range families {
		_, e := c.get(ctx, table, []byte{0}, family)
		if e != nil && !hbaserpc.Threw(e, "AccessDeniedException") {
			return fmt.Errorf("read family %s of %s: %w", family, table, e)
		} else if e != nil {
			refused, err = append(refused, family), e
		}
	}
	switch {
	case err == nil:
		return c.Lacks(ctx, table, Read, families...)
	case len(refused) == len(families):
		return fmt.Errorf("read %s: %w", table, c.denied(err, Read.String(), "R", table.String()))
	}
	return fmt.Errorf("read family %s of %s: %w", refused[0], table, c.denied(err, Read.String(), "R", table.String(), refused[0]))
}

// Lacks returns a [DeniedError] if the user lacks a right on a table, or on one of the families if there are any. It asks HBase's own
// AccessController: the master does not answer for other access control, such as Ranger's, and Lacks then returns nil.
func (c *Cluster) Lacks(ctx context.Context, table TableName, right Right, families ...string) error {
	places := []place{{table: &table}}
	if len(families) > 0 {
		places = nil
	}
	for _, family := range families {
		places = append(places, place{table: &table, family: family})
	}
	return c.lacks(ctx, right, places...)
}

// place is the scope of a right: a table, a family of it, a namespace, or the whole cluster.
type place struct {
	table     *TableName
	family    string
	namespace string
}

// names returns the names that identify the place in a grant.
func (p place) names() []string {
	switch {
	case p.table != nil && p.family != "":
		return []string{p.table.String(), p.family}
	case p.table != nil:
		return []string{p.table.String()}
	case p.namespace != "":
		return []string{"@" + p.namespace}
	}
	return nil
}

// permission returns a right on this place, as a Permission of AccessControl.proto.
func (p place) permission(right Right) ([]byte, error) {
	kind, field, action := uint64(tablePermission), protowire.Number(permissionTable), protowire.Number(tableAction)
	var on []byte
	switch {
	case p.table != nil:
		var err error
		if on, err = appendMessage(nil, permittedTable, p.table.proto()); err != nil {
			return nil, err
		}
		if p.family != "" {
			on = frames.AppendBytes(on, tableFamily, []byte(p.family))
		}
	case p.namespace != "":
		kind, field, action = namespacePermission, permissionNamespace, namespaceAction
		on = frames.AppendBytes(nil, permittedNamespace, []byte(p.namespace))
	default:
		kind, field, action = globalPermission, permissionGlobal, globalAction
	}
	return frames.AppendBytes(frames.AppendNumber(nil, permissionType, kind), field, frames.AppendNumber(on, action, uint64(right))), nil
}

// lacks is [Cluster.Lacks] for places.
func (c *Cluster) lacks(ctx context.Context, right Right, places ...place) error {
	status, err := c.Status(ctx)
	if err != nil || !slices.Contains(status.Coprocessors, "AccessController") {
		return err
	}
	var req []byte
	for _, p := range places {
		permission, err := p.permission(right)
		if err != nil {
			return err
		}
		req = frames.AppendBytes(req, userPermission, permission)
	}
	var resp proto.Message = &emptypb.Empty{}
	if err := c.master(ctx, "HasUserPermissions", raw(req), resp); hbaserpc.Threw(err, "DoNotRetryIOException") {
		return nil // the master has no AccessController
	} else if err != nil {
		return fmt.Errorf("ask for the right %s: %w", right, err)
	}
	var has []bool
	if !frames.Fields(resp.ProtoReflect().GetUnknown(), func(field protowire.Number, value uint64, data []byte) {
		if field == hasUserPermission && data == nil {
			has = append(has, value != 0)
		}
	}) || len(has) != len(places) {
		return fmt.Errorf("ask for the right %s: the master answers %d of %d questions", right, len(has), len(places))
	}
	if i := slices.Index(has, false); i >= 0 {
		return c.lacking(errors.New("the master says so"), right.String(), right.String()[:1], places[i].names()...)
	}
	return nil
}

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
	if !hbaserpc.Threw(err, "AccessDeniedException") {
		return err
	}
	return c.lacking(err, right, rights, on...)
}

// lacking returns the [DeniedError] for an error that is known to be of access control.
func (c *Cluster) lacking(err error, right, rights string, on ...string) error {
	words := append([]string{c.cfg.Owner, rights}, on...)
	return &DeniedError{User: c.cfg.EffectiveUser, Right: right, Grant: "grant '" + strings.Join(words, "', '") + "'", Err: err}
}
