//! Rights and roles.

use super::table::nodes;
use super::{
    DefElem, DropBehavior, FunctionParameterMode, GrantTargetType, ObjectType, RoleSpec,
    RoleStmtType, StringValue, TypeName, VariableSetStmt,
};

nodes! {
    /// GRANT and REVOKE of rights.
    GrantStmt: GrantStmt = 152, 64 {
        is_grant: flag = is_grant @ 4;
        targtype: {GrantTargetType} = targtype @ 8;
        objtype: {ObjectType} = objtype @ 12;
        objects: nodes = objects @ 16;
        privileges: [AccessPriv] = privileges @ 24;
        grantees: [RoleSpec] = grantees @ 32;
        grant_option: flag = grant_option @ 40;
        grantor: (RoleSpec) = grantor @ 48;
        behavior: {DropBehavior} = behavior @ 56;
    }

    /// A function or an operator, with the types of its arguments.
    ObjectWithArgs: ObjectWithArgs = 153, 40 {
        objname: [StringValue] = objname @ 8;
        objargs: nodes = objargs @ 16;
        objfuncargs: [FunctionParameter] = objfuncargs @ 24;
        args_unspecified: flag = args_unspecified @ 32;
    }

    /// An argument of a function.
    FunctionParameter: FunctionParameter = 209, 48 {
        name: text = name @ 8;
        arg_type: (TypeName) = argType @ 16;
        mode: {FunctionParameterMode} = mode @ 24;
        defexpr: node = defexpr @ 32;
        location: location = location @ 40;
    }

    /// A right, perhaps of some columns.
    AccessPriv: AccessPriv = 154, 24 {
        priv_name: text = priv_name @ 8;
        cols: [StringValue] = cols @ 16;
    }

    /// GRANT and REVOKE of roles.
    GrantRoleStmt: GrantRoleStmt = 155, 56 {
        granted_roles: [AccessPriv] = granted_roles @ 8;
        grantee_roles: [RoleSpec] = grantee_roles @ 16;
        is_grant: flag = is_grant @ 24;
        opt: [DefElem] = opt @ 32;
        grantor: (RoleSpec) = grantor @ 40;
        behavior: {DropBehavior} = behavior @ 48;
    }

    /// ALTER DEFAULT PRIVILEGES.
    AlterDefaultPrivilegesStmt: AlterDefaultPrivilegesStmt = 156, 24 {
        options: [DefElem] = options @ 8;
        action: (GrantStmt) = action @ 16;
    }

    /// CREATE ROLE, USER, GROUP.
    CreateRoleStmt: CreateRoleStmt = 185, 24 {
        stmt_type: {RoleStmtType} = stmt_type @ 4;
        role: text = role @ 8;
        options: [DefElem] = options @ 16;
    }

    /// ALTER ROLE with options or members.
    AlterRoleStmt: AlterRoleStmt = 186, 32 {
        role: (RoleSpec) = role @ 8;
        options: [DefElem] = options @ 16;
        action: int = action @ 24;
    }

    /// ALTER ROLE .. SET.
    AlterRoleSetStmt: AlterRoleSetStmt = 187, 32 {
        role: (RoleSpec) = role @ 8;
        database: text = database @ 16;
        setstmt: (VariableSetStmt) = setstmt @ 24;
    }

    /// DROP ROLE.
    DropRoleStmt: DropRoleStmt = 188, 24 {
        roles: [RoleSpec] = roles @ 8;
        missing_ok: flag = missing_ok @ 16;
    }

    /// REASSIGN OWNED.
    ReassignOwnedStmt: ReassignOwnedStmt = 256, 24 {
        roles: [RoleSpec] = roles @ 8;
        newrole: (RoleSpec) = newrole @ 16;
    }

    /// DROP OWNED.
    DropOwnedStmt: DropOwnedStmt = 255, 24 {
        roles: [RoleSpec] = roles @ 8;
        behavior: {DropBehavior} = behavior @ 16;
    }
}
