//! Polymorphic types: what `anyelement`, `anyarray`, `anycompatible` and their kin are in one call.

use crate::analyzer::Analyzer;
use crate::error::{AnalysisError, Location, Result, fault};
use crate::facts::{Oid, TypeKind, oid};

/// Whether a type stands for others.
pub(crate) fn is_polymorphic(oid: Oid) -> bool {
    is_any(oid) || is_compatible(oid)
}

fn is_any(oid: Oid) -> bool {
    matches!(oid, oid::ANYELEMENT | oid::ANYARRAY | oid::ANYNONARRAY | oid::ANYENUM)
        || matches!(oid, oid::ANYRANGE | oid::ANYMULTIRANGE)
}

fn is_compatible(oid: Oid) -> bool {
    matches!(oid, oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLEARRAY | oid::ANYCOMPATIBLENONARRAY)
        || matches!(oid, oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE)
}

/// What one family, `any..` or `anycompatible..`, is made of in a call.
#[derive(Default)]
struct Family {
    element: Option<Oid>,
    array: Option<Oid>,
    range: Option<Oid>,
    multirange: Option<Oid>,
}

/// What the polymorphic types of a call are.
#[derive(Default)]
struct Found {
    any: Family,
    compatible: Family,
    /// Types among which the compatible one is chosen.
    among: Vec<Oid>,
}

/// Two types that must be alike; the name of what both are declared as.
fn same(
    this: &Analyzer<'_, '_>,
    slot: &mut Option<Oid>,
    actual: Oid,
    name: &str,
    at: Location,
) -> Result<()> {
    match *slot {
        Some(other) if other != actual => Err(versus(
            this,
            at,
            format!("arguments declared \"{name}\" are not all alike"),
            other,
            actual,
        )),
        _ => {
            *slot = Some(actual);
            Ok(())
        }
    }
}

fn versus(
    this: &Analyzer<'_, '_>,
    at: Location,
    message: String,
    a: Oid,
    b: Oid,
) -> Box<AnalysisError> {
    let detail = format!("{} versus {}", this.type_words(a), this.type_words(b));
    fault("42804", at, message).detail(detail)
}

fn is_not(this: &Analyzer<'_, '_>, declared: &str, what: &str, actual: Oid) -> Box<AnalysisError> {
    let words = this.type_words(actual);
    fault("42804", -1, format!("argument declared {declared} is not {what} but type {words}"))
}

fn undetermined(name: &str) -> Box<AnalysisError> {
    let because = "because input has type unknown";
    let message = match name {
        "" => format!("could not determine polymorphic type {because}"),
        name => format!("could not determine polymorphic type {name} {because}"),
    };
    fault("42804", -1, message)
}

impl Analyzer<'_, '_> {
    /// Whether the types of a call's arguments fit the polymorphic ones among those that are declared.
    pub(crate) fn fits_generic(&self, actual: &[Oid], declared: &[Oid]) -> bool {
        self.found(actual, declared).is_ok()
    }

    /// The types of a call: `declared` loses its polymorphic types, and the result's type comes out.
    ///
    /// # Errors
    /// 42804 where they do not fit, or where nothing tells what they are.
    pub(crate) fn resolve_generic(
        &self,
        actual: &[Oid],
        declared: &mut [Oid],
        result: Oid,
    ) -> Result<Oid> {
        if !declared.iter().chain([&result]).any(|oid| is_polymorphic(*oid)) {
            return Ok(result);
        }
        let mut found = self.found(actual, declared)?;
        let wants_compatible = declared.iter().chain([&result]).any(|oid| is_compatible(*oid));
        if wants_compatible && found.compatible.element.is_none() {
            // All are unknown: texts.
            found.compatible.element = Some(oid::TEXT);
        }
        let is_given = |oid: &Oid| is_any(*oid);
        if declared.iter().chain([&result]).any(is_given)
            && found.any.element.is_none()
            && found.any.array != Some(oid::ANYARRAY)
        {
            return Err(undetermined(""));
        }
        for (declared, actual) in declared.iter_mut().zip(actual) {
            if is_polymorphic(*declared)
                && !(found.any.array == Some(oid::ANYARRAY) && is_any(*declared))
            {
                let resolved = self.instance(*declared, &found)?;
                // A domain over an array stays what it is until it is cast.
                let keeps = *actual != oid::UNKNOWN
                    && is_any(*declared)
                    && matches!(*declared, oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM);
                *declared = if keeps { *actual } else { resolved };
            }
        }
        if !is_polymorphic(result) {
            return Ok(result);
        }
        if found.any.array == Some(oid::ANYARRAY) && is_any(result) {
            return if result == oid::ANYARRAY {
                Ok(result)
            } else {
                Err(fault("42804", -1, "cannot determine element type of \"anyarray\" argument"))
            };
        }
        self.instance(result, &found)
    }

    /// What a polymorphic type is.
    fn instance(&self, declared: Oid, found: &Found) -> Result<Oid> {
        let family = if is_any(declared) { &found.any } else { &found.compatible };
        let element = family.element.ok_or_else(|| undetermined(""))?;
        match declared {
            oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => match self.array_of(element) {
                0 => {
                    let words = self.type_words(element);
                    let message = format!("could not find array type for data type {words}");
                    Err(fault("42704", -1, message))
                }
                array => Ok(array),
            },
            oid::ANYRANGE | oid::ANYCOMPATIBLERANGE => {
                family.range.ok_or_else(|| undetermined(self.type_of(declared).name))
            }
            oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => {
                let of_range = family.range.map(|range| self.type_of(range).multirange);
                let multirange = family.multirange.or(of_range);
                multirange.ok_or_else(|| undetermined(self.type_of(declared).name))
            }
            _ => Ok(element),
        }
    }

    fn found(&self, actual: &[Oid], declared: &[Oid]) -> Result<Found> {
        let mut found = Found::default();
        let known = declared.iter().zip(actual).filter(|(_, actual)| **actual != oid::UNKNOWN);
        for (declared, actual) in known.clone() {
            self.find(*declared, *actual, &mut found)?;
        }
        if found.any.array == Some(oid::ANYARRAY) {
            return Ok(found);
        }
        self.complete(&mut found.any, ["anyelement", "anyarray", "anyrange", "anymultirange"])?;
        let nonarray = found.any.element.filter(|element| self.element(*element).is_some());
        if let Some(element) = nonarray.filter(|_| declared.contains(&oid::ANYNONARRAY)) {
            let words = self.type_words(element);
            let message = format!("type matched to anynonarray is an array type: {words}");
            return Err(fault("42804", -1, message));
        }
        let not_enum = |element: &Oid| self.type_of(*element).kind != TypeKind::Enum;
        if let Some(element) = found.any.element.filter(not_enum)
            && declared.contains(&oid::ANYENUM)
        {
            let words = self.type_words(element);
            let message = format!("type matched to anyenum is not an enum type: {words}");
            return Err(fault("42804", -1, message));
        }
        self.find_compatible(&mut found, declared)?;
        Ok(found)
    }

    /// What one argument says.
    fn find(&self, declared: Oid, actual: Oid, found: &mut Found) -> Result<()> {
        let base = self.base_type(actual);
        match declared {
            oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM => {
                same(self, &mut found.any.element, actual, "anyelement", -1)
            }
            oid::ANYARRAY => same(self, &mut found.any.array, base, "anyarray", -1),
            oid::ANYRANGE => same(self, &mut found.any.range, base, "anyrange", -1),
            oid::ANYMULTIRANGE => same(self, &mut found.any.multirange, base, "anymultirange", -1),
            oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => {
                found.among.push(actual);
                Ok(())
            }
            oid::ANYCOMPATIBLEARRAY => {
                let element = self.element(base);
                let no_array = || is_not(self, "anycompatiblearray", "an array", base);
                found.among.push(element.ok_or_else(no_array)?);
                Ok(())
            }
            oid::ANYCOMPATIBLERANGE => {
                self.expect(base, TypeKind::Range, "anycompatiblerange", "a range type")?;
                found.among.push(self.type_of(base).of);
                same(self, &mut found.compatible.range, base, "anycompatiblerange", -1)
            }
            oid::ANYCOMPATIBLEMULTIRANGE => {
                let name = "anycompatiblemultirange";
                self.expect(base, TypeKind::Multirange, name, "a multirange type")?;
                let range = self.type_of(base).of;
                found.among.push(self.type_of(range).of);
                same(self, &mut found.compatible.multirange, base, name, -1)?;
                same(self, &mut found.compatible.range, range, "anycompatiblerange", -1)
            }
            _ => Ok(()),
        }
    }

    fn expect(&self, actual: Oid, kind: TypeKind, declared: &str, what: &str) -> Result<()> {
        if self.type_of(actual).kind == kind {
            return Ok(());
        }
        Err(is_not(self, declared, what, actual))
    }

    /// The elements of what the family has found.
    fn complete(&self, family: &mut Family, names: [&str; 4]) -> Result<()> {
        let [element, array, range, multirange] = names;
        let consistent = |slot: &mut Option<Oid>, actual: Oid, name: &str, other: &str| {
            let message = format!(
                "argument declared {name} is not consistent with argument declared {other}"
            );
            match *slot {
                Some(known) if known != actual => Err(versus(self, -1, message, actual, known)),
                _ => {
                    *slot = Some(actual);
                    Ok(())
                }
            }
        };
        if let Some(found) = family.array {
            let of = self.element(found).ok_or_else(|| is_not(self, array, "an array", found))?;
            consistent(&mut family.element, of, array, element)?;
        }
        if let Some(found) = family.multirange {
            self.expect(found, TypeKind::Multirange, multirange, "a multirange type")?;
            consistent(&mut family.range, self.type_of(found).of, multirange, range)?;
        }
        if let Some(found) = family.range {
            self.expect(found, TypeKind::Range, range, "a range type")?;
            consistent(&mut family.element, self.type_of(found).of, range, element)?;
        }
        Ok(())
    }

    fn find_compatible(&self, found: &mut Found, declared: &[Oid]) -> Result<()> {
        if found.among.is_empty() {
            return Ok(());
        }
        let common = self.common_of_types(&found.among).ok_or_else(|| {
            let words = self.types_words(&found.among);
            fault("42804", -1, "arguments of anycompatible family cannot be cast to a common type")
                .detail(words)
        })?;
        if declared.contains(&oid::ANYCOMPATIBLENONARRAY) && self.base_element(common).is_some() {
            let words = self.type_words(common);
            let message =
                format!("type matched to anycompatiblenonarray is an array type: {words}");
            return Err(fault("42804", -1, message));
        }
        if let Some(range) = found.compatible.range
            && self.type_of(range).of != common
        {
            let words = self.type_words(range);
            let message = format!(
                "anycompatiblerange type {words} does not match anycompatible type {}",
                self.type_words(common)
            );
            return Err(fault("42804", -1, message));
        }
        found.compatible.element = Some(common);
        Ok(())
    }
}
