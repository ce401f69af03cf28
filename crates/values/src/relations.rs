//! The six relations of an ordered type, from its comparison.

/// Kernels of equality, inequality, less, less or equal, greater, greater or equal, and order; all by one comparison of a context and
/// arguments.
macro_rules! relations {
    ($compared:expr; $eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal
     $cmp:literal) => {
        [
            entry($eq, |c, a| Ok(Datum::Bool($compared(c, a).is_eq()))),
            entry($ne, |c, a| Ok(Datum::Bool($compared(c, a).is_ne()))),
            entry($lt, |c, a| Ok(Datum::Bool($compared(c, a).is_lt()))),
            entry($le, |c, a| Ok(Datum::Bool($compared(c, a).is_le()))),
            entry($gt, |c, a| Ok(Datum::Bool($compared(c, a).is_gt()))),
            entry($ge, |c, a| Ok(Datum::Bool($compared(c, a).is_ge()))),
            entry($cmp, |c, a| Ok(Datum::Int4($compared(c, a) as i32))),
        ]
    };
}
pub(crate) use relations;
