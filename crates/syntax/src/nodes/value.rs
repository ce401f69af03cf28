//! Names and literals.

use super::table::nodes;
use super::{DefElemAction, RoleSpecType};

nodes! {
    /// An integer within a list or a constant.
    IntegerValue: Integer = 465, 8 {
        value: int = ival @ 4;
    }

    /// A number that is no integer of 32 bits, as it was written.
    FloatValue: Float = 466, 16 {
        value: text = fval @ 8;
    }

    /// TRUE or FALSE.
    BooleanValue: Boolean = 467, 8 {
        value: flag = boolval @ 4;
    }

    /// A name or a string.
    StringValue: String = 468, 16 {
        value: text = sval @ 8;
    }

    /// A bit string: `b` or `x`, and its digits.
    BitStringValue: BitString = 469, 16 {
        value: text = bsval @ 8;
    }

    /// A constant.
    AConst: A_Const = 72, 32 {
        value: literal = val @ 8;
        location: location = location @ 28;
    }

    /// `*` in a list of columns.
    AStar: A_Star = 77, 4 {
    }

    /// A type's name, with its modifiers and array bounds.
    TypeName: TypeName = 68, 56 {
        names: [StringValue] = names @ 8;
        setof: flag = setof @ 20;
        pct_type: flag = pct_type @ 21;
        typmods: nodes = typmods @ 24;
        array_bounds: nodes = arrayBounds @ 40;
        location: location = location @ 48;
    }

    /// An option: its name and its value.
    DefElem: DefElem = 93, 48 {
        defnamespace: text = defnamespace @ 8;
        defname: text = defname @ 16;
        arg: node = arg @ 24;
        defaction: {DefElemAction} = defaction @ 32;
        location: location = location @ 36;
        arg_location: location = arg_location @ 40;
    }

    /// An alias of a relation, and those of its columns.
    Alias: Alias = 2, 24 {
        aliasname: text = aliasname @ 8;
        colnames: [StringValue] = colnames @ 16;
    }

    /// A role: a name, or CURRENT_USER and the like.
    RoleSpec: RoleSpec = 75, 24 {
        roletype: {RoleSpecType} = roletype @ 4;
        rolename: text = rolename @ 8;
        location: location = location @ 16;
    }
}
