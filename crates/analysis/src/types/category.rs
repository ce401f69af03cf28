//! What a type is to the rules.

use crate::analyzer::Analyzer;
use crate::catalog::Relation;
use crate::facts::{Oid, TypeKind, TypeRow, oid, type_row};

impl Analyzer<'_, '_> {
    /// A type by its OID.
    ///
    /// # Panics
    /// When the catalog names a type that it does not have.
    pub(crate) fn type_of(&self, oid: Oid) -> &'static TypeRow {
        let row = type_row(oid).or_else(|| self.catalog.type_row(oid));
        row.unwrap_or_else(|| panic!("the catalog has no type {oid}"))
    }

    /// A domain's base, or the type itself.
    pub(crate) fn base_type(&self, oid: Oid) -> Oid {
        self.base_type_and_typmod(oid, -1).0
    }

    /// The same with the typmod that the domain gives.
    pub(crate) fn base_type_and_typmod(&self, mut oid: Oid, mut typmod: i32) -> (Oid, i32) {
        loop {
            let row = self.type_of(oid);
            if row.kind != TypeKind::Domain {
                return (oid, typmod);
            }
            (oid, typmod) = (row.of, row.of_typmod);
        }
    }

    /// Whether it is a domain.
    pub(crate) fn is_domain(&self, oid: Oid) -> bool {
        self.type_of(oid).kind == TypeKind::Domain
    }

    pub(crate) fn category(&self, oid: Oid) -> char {
        self.type_of(oid).category
    }

    pub(crate) fn is_preferred(&self, category: char, oid: Oid) -> bool {
        let row = self.type_of(oid);
        row.category == category && row.is_preferred
    }

    /// The collation of a type's values; 0 where it has none.
    pub(crate) fn collation_of(&self, oid: Oid) -> Oid {
        self.type_of(oid).collation
    }

    /// The elements of a true array, or of a domain over one... none of a domain: see `base_type`.
    pub(crate) fn element(&self, oid: Oid) -> Option<Oid> {
        let row = self.type_of(oid);
        row.is_array.then_some(row.element)
    }

    /// The elements of an array or of a domain over one.
    pub(crate) fn base_element(&self, oid: Oid) -> Option<Oid> {
        self.element(self.base_type(oid))
    }

    /// The arrays of a type; 0 where there are none.
    pub(crate) fn array_of(&self, oid: Oid) -> Oid {
        if oid == oid::RECORD { oid::RECORD_ARRAY } else { self.type_of(oid).array }
    }

    /// Whether values have columns that are known by the type.
    pub(crate) fn is_composite(&self, oid: Oid) -> bool {
        self.type_of(self.base_type(oid)).kind == TypeKind::Composite
    }

    /// The relation with the columns of a composite type or of a domain over one.
    pub(crate) fn columns_of(&self, oid: Oid) -> Option<std::sync::Arc<Relation>> {
        let relation = self.type_of(self.base_type(oid)).relation;
        if relation == 0 { None } else { self.catalog.relation_by_oid(relation) }
    }

    /// Whether the bytes of a value of one type are one of the other.
    pub(crate) fn is_binary_coercible(&self, source: Oid, target: Oid) -> bool {
        if source == target || matches!(target, oid::ANY | oid::ANYELEMENT | oid::ANYCOMPATIBLE) {
            return true;
        }
        let source = self.base_type(source);
        if source == target {
            return true;
        }
        let row = self.type_of(source);
        let is_of_family = match target {
            oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => row.is_array,
            oid::ANYNONARRAY | oid::ANYCOMPATIBLENONARRAY => !row.is_array,
            oid::ANYENUM => row.kind == TypeKind::Enum,
            oid::ANYRANGE | oid::ANYCOMPATIBLERANGE => row.kind == TypeKind::Range,
            oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => row.kind == TypeKind::Multirange,
            oid::RECORD => row.kind == TypeKind::Composite,
            oid::RECORD_ARRAY => {
                row.is_array && self.type_of(row.element).kind == TypeKind::Composite
            }
            _ => false,
        };
        is_of_family
            || crate::facts::cast(source, target).is_some_and(|cast| {
                cast.method == crate::facts::CastMethod::Binary
                    && cast.context == crate::facts::CastContext::Implicit
            })
    }
}
