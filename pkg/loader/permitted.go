package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/hadoop/frames"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Right is an action of HBase's access control.
type Right int

// The rights that jobs need, by their numbers in AccessControl.proto (Permission.Action).
const (
	Read  Right = 0
	Admin Right = 4
)

func (r Right) String() string { return map[Right]string{Read: "READ", Admin: "ADMIN"}[r] }

// Fields of AccessControl.proto of HBase 2, which gohbase lacks.
const (
	userPermission    = 2 // HasUserPermissionsRequest.permission
	permissionType    = 1 // Permission.type
	permissionTable   = 4 // .table_permission
	tablePermission   = 3 // a value of Permission.type
	permittedTable    = 1 // TablePermission.table_name
	tableFamily       = 2 // .family
	tableAction       = 4 // .action
	hasUserPermission = 1 // HasUserPermissionsResponse.has_user_permission
)

// MayRead returns a [DeniedError] if the user may not read all cells of these families of a table. A read of several families leaves
// out those that the user may not read and says nothing (AccessController.preGetOp, 2.6.4), so each is read by itself: a row that no
// job makes. A user with the right on single columns passes that.
func (c *Cluster) MayRead(ctx context.Context, table TableName, families ...string) error {
	var refused []string
	var err error
	for _, family := range families {
		_, e := c.get(ctx, table, []byte{0}, family)
		if e != nil && !isJava(e, "AccessDeniedException") {
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
// AccessController: the master answers for no other access control, such as Ranger's, and then it returns nil.
func (c *Cluster) Lacks(ctx context.Context, table TableName, right Right, families ...string) error {
	status, err := c.Status(ctx)
	if err != nil || !slices.Contains(status.Coprocessors, "AccessController") {
		return err
	}
	places := [][]string{{table.String()}}
	if len(families) > 0 {
		places = nil
	}
	for _, family := range families {
		places = append(places, []string{table.String(), family})
	}
	var req []byte
	for _, place := range places {
		p, err := appendMessage(nil, permittedTable, table.proto())
		if err != nil {
			return err
		}
		for _, family := range place[1:] {
			p = appendBytes(p, tableFamily, []byte(family))
		}
		p = appendUint(p, tableAction, uint64(right))
		req = appendBytes(req, userPermission, appendBytes(appendUint(nil, permissionType, tablePermission), permissionTable, p))
	}
	var resp proto.Message = &emptypb.Empty{}
	if err := c.master(ctx, "HasUserPermissions", raw(req), resp); isJava(err, "DoNotRetryIOException") {
		return nil // the master has no AccessController
	} else if err != nil {
		return fmt.Errorf("ask for the rights on table %s: %w", table, err)
	}
	var has []bool
	if !frames.Fields(resp.ProtoReflect().GetUnknown(), func(field protowire.Number, value uint64, data []byte) {
		if field == hasUserPermission && data == nil {
			has = append(has, value != 0)
		}
	}) || len(has) != len(places) {
		return fmt.Errorf("ask for the rights on table %s: the master answers %d of %d questions", table, len(has), len(places))
	}
	if i := slices.Index(has, false); i >= 0 {
		return c.lacking(errors.New("the master says so"), right.String(), right.String()[:1], places[i]...)
	}
	return nil
}
