//! Tables: CREATE, ALTER and their columns and constraints.

use super::table::nodes;
use super::{
    AlterTableType, CollateClause, ConstrType, DefElem, DropBehavior, IntoClause, ObjectType,
    OnCommitAction, PartitionStrategy, RangeVar, RoleSpec, StringValue, TypeName,
};

nodes! {
    /// CREATE TABLE.
    CreateStmt: CreateStmt = 160, 112 {
        relation: (RangeVar) = relation @ 8;
        table_elts: nodes = tableElts @ 16;
        inh_relations: [RangeVar] = inhRelations @ 24;
        partbound: (PartitionBoundSpec) = partbound @ 32;
        partspec: (PartitionSpec) = partspec @ 40;
        of_typename: (TypeName) = ofTypename @ 48;
        constraints: [Constraint] = constraints @ 56;
        options: [DefElem] = options @ 72;
        oncommit: {OnCommitAction} = oncommit @ 80;
        tablespacename: text = tablespacename @ 88;
        access_method: text = accessMethod @ 96;
        if_not_exists: flag = if_not_exists @ 104;
    }

    /// A column.
    ColumnDef: ColumnDef = 90, 128 {
        colname: text = colname @ 8;
        type_name: (TypeName) = typeName @ 16;
        compression: text = compression @ 24;
        inhcount: short = inhcount @ 32;
        is_local: flag = is_local @ 34;
        is_not_null: flag = is_not_null @ 35;
        storage_name: text = storage_name @ 40;
        raw_default: node = raw_default @ 48;
        identity: byte = identity @ 64;
        generated: byte = generated @ 80;
        coll_clause: (CollateClause) = collClause @ 88;
        constraints: [Constraint] = constraints @ 104;
        fdwoptions: [DefElem] = fdwoptions @ 112;
        location: location = location @ 120;
    }

    /// LIKE of a CREATE TABLE.
    TableLikeClause: TableLikeClause = 91, 24 {
        relation: (RangeVar) = relation @ 8;
        options: bits = options @ 16;
    }

    /// A constraint of a column or a table.
    Constraint: Constraint = 161, 184 {
        contype: {ConstrType} = contype @ 4;
        conname: text = conname @ 8;
        deferrable: flag = deferrable @ 16;
        initdeferred: flag = initdeferred @ 17;
        is_enforced: flag = is_enforced @ 18;
        skip_validation: flag = skip_validation @ 19;
        initially_valid: flag = initially_valid @ 20;
        is_no_inherit: flag = is_no_inherit @ 21;
        raw_expr: node = raw_expr @ 24;
        generated_when: byte = generated_when @ 40;
        generated_kind: byte = generated_kind @ 41;
        nulls_not_distinct: flag = nulls_not_distinct @ 42;
        keys: [StringValue] = keys @ 48;
        without_overlaps: flag = without_overlaps @ 56;
        including: [StringValue] = including @ 64;
        exclusions: nodes = exclusions @ 72;
        options: [DefElem] = options @ 80;
        indexname: text = indexname @ 88;
        indexspace: text = indexspace @ 96;
        reset_default_tblspc: flag = reset_default_tblspc @ 104;
        access_method: text = access_method @ 112;
        where_clause: node = where_clause @ 120;
        pktable: (RangeVar) = pktable @ 128;
        fk_attrs: [StringValue] = fk_attrs @ 136;
        pk_attrs: [StringValue] = pk_attrs @ 144;
        fk_with_period: flag = fk_with_period @ 152;
        pk_with_period: flag = pk_with_period @ 153;
        fk_matchtype: byte = fk_matchtype @ 154;
        fk_upd_action: byte = fk_upd_action @ 155;
        fk_del_action: byte = fk_del_action @ 156;
        fk_del_set_cols: [StringValue] = fk_del_set_cols @ 160;
        location: location = location @ 180;
    }

    /// PARTITION BY.
    PartitionSpec: PartitionSpec = 97, 24 {
        strategy: {PartitionStrategy} = strategy @ 4;
        part_params: [PartitionElem] = partParams @ 8;
        location: location = location @ 16;
    }

    /// A column or an expression of PARTITION BY.
    PartitionElem: PartitionElem = 96, 48 {
        name: text = name @ 8;
        expr: node = expr @ 16;
        collation: [StringValue] = collation @ 24;
        opclass: [StringValue] = opclass @ 32;
        location: location = location @ 40;
    }

    /// FOR VALUES of a partition.
    PartitionBoundSpec: PartitionBoundSpec = 98, 48 {
        strategy: byte = strategy @ 4;
        is_default: flag = is_default @ 5;
        modulus: int = modulus @ 8;
        remainder: int = remainder @ 12;
        listdatums: nodes = listdatums @ 16;
        lowerdatums: nodes = lowerdatums @ 24;
        upperdatums: nodes = upperdatums @ 32;
        location: location = location @ 40;
    }

    /// ATTACH and DETACH PARTITION.
    PartitionCmd: PartitionCmd = 100, 32 {
        name: (RangeVar) = name @ 8;
        bound: (PartitionBoundSpec) = bound @ 16;
        concurrent: flag = concurrent @ 24;
    }

    /// ALTER TABLE, INDEX, VIEW, SEQUENCE.
    AlterTableStmt: AlterTableStmt = 146, 32 {
        relation: (RangeVar) = relation @ 8;
        cmds: [AlterTableCmd] = cmds @ 16;
        objtype: {ObjectType} = objtype @ 24;
        missing_ok: flag = missing_ok @ 28;
    }

    /// One change of an ALTER TABLE.
    AlterTableCmd: AlterTableCmd = 147, 48 {
        subtype: {AlterTableType} = subtype @ 4;
        name: text = name @ 8;
        num: short = num @ 16;
        newowner: (RoleSpec) = newowner @ 24;
        def: node = def @ 32;
        behavior: {DropBehavior} = behavior @ 40;
        missing_ok: flag = missing_ok @ 44;
        recurse: flag = recurse @ 45;
    }

    /// REPLICA IDENTITY.
    ReplicaIdentityStmt: ReplicaIdentityStmt = 149, 16 {
        identity_type: byte = identity_type @ 4;
        name: text = name @ 8;
    }

    /// CREATE TABLE AS, CREATE MATERIALIZED VIEW.
    CreateTableAsStmt: CreateTableAsStmt = 242, 32 {
        query: node = query @ 8;
        into: (IntoClause) = into @ 16;
        objtype: {ObjectType} = objtype @ 24;
        is_select_into: flag = is_select_into @ 28;
        if_not_exists: flag = if_not_exists @ 29;
    }

    /// REFRESH MATERIALIZED VIEW.
    RefreshMatViewStmt: RefreshMatViewStmt = 243, 16 {
        concurrent: flag = concurrent @ 4;
        skip_data: flag = skipData @ 5;
        relation: (RangeVar) = relation @ 8;
    }

    /// TRUNCATE.
    TruncateStmt: TruncateStmt = 198, 24 {
        relations: [RangeVar] = relations @ 8;
        restart_seqs: flag = restart_seqs @ 16;
        behavior: {DropBehavior} = behavior @ 20;
    }
}
