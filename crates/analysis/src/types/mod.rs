//! Types: by name and OID, categories, modifiers, how messages name them, polymorphic ones.
//!
//! **In**: type names of the raw tree, OIDs. **Out**: rows of `facts` or of the catalog, typmods, words. Everybody calls it.

mod category;
pub(crate) mod format;
mod modifier;
mod name;
mod polymorphic;

pub(crate) use name::NamedType;
pub(crate) use polymorphic::is_polymorphic;
