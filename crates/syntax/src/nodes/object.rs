//! Indexes, views, schemas, sequences, databases, domains, types; and what is the same for all objects.

use super::table::nodes;
use super::{
    CollateClause, ColumnDef, Constraint, DefElem, DropBehavior, ObjectType, RangeVar, RoleSpec,
    SortByDir, SortByNulls, StringValue, TypeName, VariableSetStmt, ViewCheckOption,
};

nodes! {
    /// CREATE INDEX.
    IndexStmt: IndexStmt = 204, 120 {
        idxname: text = idxname @ 8;
        relation: (RangeVar) = relation @ 16;
        access_method: text = accessMethod @ 24;
        table_space: text = tableSpace @ 32;
        index_params: [IndexElem] = indexParams @ 40;
        index_including_params: [IndexElem] = indexIncludingParams @ 48;
        options: [DefElem] = options @ 56;
        where_clause: node = whereClause @ 64;
        unique: flag = unique @ 104;
        nulls_not_distinct: flag = nulls_not_distinct @ 105;
        primary: flag = primary @ 106;
        iswithoutoverlaps: flag = iswithoutoverlaps @ 108;
        deferrable: flag = deferrable @ 109;
        initdeferred: flag = initdeferred @ 110;
        concurrent: flag = concurrent @ 112;
        if_not_exists: flag = if_not_exists @ 113;
    }

    /// A column or an expression of an index.
    IndexElem: IndexElem = 92, 64 {
        name: text = name @ 8;
        expr: node = expr @ 16;
        indexcolname: text = indexcolname @ 24;
        collation: [StringValue] = collation @ 32;
        opclass: [StringValue] = opclass @ 40;
        opclassopts: [DefElem] = opclassopts @ 48;
        ordering: {SortByDir} = ordering @ 56;
        nulls_ordering: {SortByNulls} = nulls_ordering @ 60;
    }

    /// CREATE VIEW.
    ViewStmt: ViewStmt = 230, 56 {
        view: (RangeVar) = view @ 8;
        aliases: [StringValue] = aliases @ 16;
        query: node = query @ 24;
        replace: flag = replace @ 32;
        options: [DefElem] = options @ 40;
        with_check_option: {ViewCheckOption} = withCheckOption @ 48;
    }

    /// CREATE SCHEMA.
    CreateSchemaStmt: CreateSchemaStmt = 145, 40 {
        schemaname: text = schemaname @ 8;
        authrole: (RoleSpec) = authrole @ 16;
        schema_elts: nodes = schemaElts @ 24;
        if_not_exists: flag = if_not_exists @ 32;
    }

    /// CREATE SEQUENCE.
    CreateSeqStmt: CreateSeqStmt = 189, 32 {
        sequence: (RangeVar) = sequence @ 8;
        options: [DefElem] = options @ 16;
        if_not_exists: flag = if_not_exists @ 29;
    }

    /// ALTER SEQUENCE.
    AlterSeqStmt: AlterSeqStmt = 190, 32 {
        sequence: (RangeVar) = sequence @ 8;
        options: [DefElem] = options @ 16;
        missing_ok: flag = missing_ok @ 25;
    }

    /// CREATE DATABASE.
    CreatedbStmt: CreatedbStmt = 232, 24 {
        dbname: text = dbname @ 8;
        options: [DefElem] = options @ 16;
    }

    /// ALTER DATABASE with options.
    AlterDatabaseStmt: AlterDatabaseStmt = 233, 24 {
        dbname: text = dbname @ 8;
        options: [DefElem] = options @ 16;
    }

    /// ALTER DATABASE .. SET.
    AlterDatabaseSetStmt: AlterDatabaseSetStmt = 235, 24 {
        dbname: text = dbname @ 8;
        setstmt: (VariableSetStmt) = setstmt @ 16;
    }

    /// DROP DATABASE.
    DropdbStmt: DropdbStmt = 236, 32 {
        dbname: text = dbname @ 8;
        missing_ok: flag = missing_ok @ 16;
        options: [DefElem] = options @ 24;
    }

    /// CREATE DOMAIN.
    CreateDomainStmt: CreateDomainStmt = 192, 40 {
        domainname: [StringValue] = domainname @ 8;
        type_name: (TypeName) = typeName @ 16;
        coll_clause: (CollateClause) = collClause @ 24;
        constraints: [Constraint] = constraints @ 32;
    }

    /// ALTER DOMAIN.
    AlterDomainStmt: AlterDomainStmt = 151, 40 {
        subtype: byte = subtype @ 4;
        type_name: [StringValue] = typeName @ 8;
        name: text = name @ 16;
        def: node = def @ 24;
        behavior: {DropBehavior} = behavior @ 32;
        missing_ok: flag = missing_ok @ 36;
    }

    /// CREATE TYPE .. AS ENUM.
    CreateEnumStmt: CreateEnumStmt = 227, 24 {
        type_name: [StringValue] = typeName @ 8;
        vals: [StringValue] = vals @ 16;
    }

    /// ALTER TYPE of an enum.
    AlterEnumStmt: AlterEnumStmt = 229, 48 {
        type_name: [StringValue] = typeName @ 8;
        old_val: text = oldVal @ 16;
        new_val: text = newVal @ 24;
        new_val_neighbor: text = newValNeighbor @ 32;
        new_val_is_after: flag = newValIsAfter @ 40;
        skip_if_new_val_exists: flag = skipIfNewValExists @ 41;
    }

    /// CREATE TYPE .. AS (..).
    CompositeTypeStmt: CompositeTypeStmt = 226, 24 {
        typevar: (RangeVar) = typevar @ 8;
        coldeflist: [ColumnDef] = coldeflist @ 16;
    }

    /// DROP of most kinds of objects.
    DropStmt: DropStmt = 197, 32 {
        objects: nodes = objects @ 8;
        remove_type: {ObjectType} = removeType @ 16;
        behavior: {DropBehavior} = behavior @ 20;
        missing_ok: flag = missing_ok @ 24;
        concurrent: flag = concurrent @ 25;
    }

    /// RENAME.
    RenameStmt: RenameStmt = 215, 56 {
        rename_type: {ObjectType} = renameType @ 4;
        relation_type: {ObjectType} = relationType @ 8;
        relation: (RangeVar) = relation @ 16;
        object: node = object @ 24;
        subname: text = subname @ 32;
        newname: text = newname @ 40;
        behavior: {DropBehavior} = behavior @ 48;
        missing_ok: flag = missing_ok @ 52;
    }

    /// SET SCHEMA.
    AlterObjectSchemaStmt: AlterObjectSchemaStmt = 217, 40 {
        object_type: {ObjectType} = objectType @ 4;
        relation: (RangeVar) = relation @ 8;
        object: node = object @ 16;
        newschema: text = newschema @ 24;
        missing_ok: flag = missing_ok @ 32;
    }

    /// OWNER TO.
    AlterOwnerStmt: AlterOwnerStmt = 218, 32 {
        object_type: {ObjectType} = objectType @ 4;
        relation: (RangeVar) = relation @ 8;
        object: node = object @ 16;
        newowner: (RoleSpec) = newowner @ 24;
    }

    /// COMMENT.
    CommentStmt: CommentStmt = 199, 24 {
        objtype: {ObjectType} = objtype @ 4;
        object: node = object @ 8;
        comment: text = comment @ 16;
    }

    /// CREATE EXTENSION.
    CreateExtensionStmt: CreateExtensionStmt = 166, 32 {
        extname: text = extname @ 8;
        if_not_exists: flag = if_not_exists @ 16;
        options: [DefElem] = options @ 24;
    }
}
