//! One value of any type, as kernels take and return it.

/// A value with its type. `Null` stands for NULL of every type.
///
/// Types are added with their modules: a variant holds what the type's module computes with.
#[derive(Clone, Debug)]
pub enum Datum {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
}
