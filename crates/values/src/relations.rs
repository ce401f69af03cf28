//! The six relations of an ordered type, from its comparison.

/// Kernels of equality, inequality, less, less or equal, greater, greater or equal, and order; all by one comparison of a context and
/// arguments.
macro_rules! relations {
    ($compared:expr; $eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal
     $cmp:literal) => {
        [
            kernel($eq, |c, a| Ok(Datum::Bool($compared(c, a).is_eq()))),
            kernel($ne, |c, a| Ok(Datum::Bool($compared(c, a).is_ne()))),
            kernel($lt, |c, a| Ok(Datum::Bool($compared(c, a).is_lt()))),
            kernel($le, |c, a| Ok(Datum::Bool($compared(c, a).is_le()))),
            kernel($gt, |c, a| Ok(Datum::Bool($compared(c, a).is_gt()))),
            kernel($ge, |c, a| Ok(Datum::Bool($compared(c, a).is_ge()))),
            kernel($cmp, |c, a| Ok(Datum::Int4($compared(c, a) as i32))),
        ]
    };
}
pub(crate) use relations;
