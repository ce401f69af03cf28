//! WINDOW, and windows that are written behind OVER.

use syntax::{Node, WindowDef};

use super::sort::Standard;
use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::{Location, Result, fault, location};
use crate::facts::{CastContext, Oid, oid};
use crate::place::Place;
use crate::tree::{Expression, Frame, Target, Window};

/// PostgreSQL's bits of a frame.
const NOT_DEFAULT: i32 = 0x1;
const RANGE: i32 = 0x2;
const ROWS: i32 = 0x4;
const GROUPS: i32 = 0x8;
const OFFSETS: i32 = 0x800 | 0x1000 | 0x2000 | 0x4000;

impl<'t> Analyzer<'t, '_> {
    /// All windows of the query, in the order in which they were met.
    pub(super) fn windows(&mut self, targets: &mut Vec<Target>) -> Result<Vec<Window>> {
        let definitions = self.here().windows.clone();
        let mut windows: Vec<Window> = Vec::with_capacity(definitions.len());
        for (place, definition) in definitions.iter().enumerate() {
            let at = location(definition.location());
            if let Some(name) = definition.name()
                && definitions[..place].iter().any(|other| other.name() == Some(name))
            {
                return Err(fault("42P20", at, format!("window \"{name}\" is already defined")));
            }
            let base = match definition.refname() {
                Some(name) => Some(self.named_window(name, &windows, at)?),
                None => None,
            };
            let order = self.in_place(Place::WindowOrder, |this| {
                this.sort_clause(definition.order_clause(), targets, Standard::Sql99)
            })?;
            let partition = self.in_place(Place::WindowPartition, |this| {
                this.partition_clause(definition.partition_clause(), targets)
            })?;
            let mut window = Window {
                name: definition.name().map(Into::into),
                partition,
                order,
                frame: Frame { options: definition.frame_options(), start: None, end: None },
            };
            if let Some(base) = base {
                copy(*definition, base, &mut window, at)?;
            }
            self.frame(*definition, &mut window, targets, at)?;
            windows.push(window);
        }
        Ok(windows)
    }

    fn named_window<'w>(
        &self,
        name: &str,
        windows: &'w [Window],
        at: Location,
    ) -> Result<&'w Window> {
        let found = windows.iter().find(|window| window.name.as_deref() == Some(name));
        found.ok_or_else(|| fault("42704", at, format!("window \"{name}\" does not exist")))
    }

    fn frame(
        &mut self,
        definition: WindowDef<'t>,
        window: &mut Window,
        targets: &[Target],
        at: Location,
    ) -> Result<()> {
        let options = window.frame.options;
        if options & RANGE != 0 && options & OFFSETS != 0 && window.order.len() != 1 {
            let message =
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(fault("42P20", at, message));
        }
        if options & GROUPS != 0 && window.order.is_empty() {
            return Err(fault("42P20", at, "GROUPS mode requires an ORDER BY clause"));
        }
        let ordered = window.order.first().map(|key| targets[key.target].expression.type_oid);
        window.frame.start = self.bound_of_frame(definition.start_offset(), options, ordered)?;
        window.frame.end = self.bound_of_frame(definition.end_offset(), options, ordered)?;
        Ok(())
    }

    fn bound_of_frame(
        &mut self,
        node: Option<Node<'t>>,
        options: i32,
        ordered: Option<Oid>,
    ) -> Result<Option<Expression>> {
        let Some(node) = node else { return Ok(None) };
        let (place, name) = if options & ROWS != 0 {
            (Place::WindowFrameRows, "ROWS")
        } else if options & GROUPS != 0 {
            (Place::WindowFrameGroups, "GROUPS")
        } else {
            (Place::WindowFrameRange, "RANGE")
        };
        let value = self.in_place(place, |this| this.expression(node))?;
        let value = match ordered {
            Some(ordered) if place == Place::WindowFrameRange => {
                self.range_distance(value, ordered)?
            }
            _ => self.of_type(value, oid::INT8, name)?,
        };
        self.no_columns(&value, name)?;
        Ok(Some(value))
    }

    /// How far RANGE reaches, in the type that differences of the key have.
    fn range_distance(&mut self, value: Expression, ordered: Oid) -> Result<Expression> {
        let at = value.location;
        let source = value.type_oid;
        let base = self.base_type(ordered);
        let own: &[Oid] = match base {
            oid::INT2 | oid::INT4 | oid::INT8 => &[oid::INT8, oid::INT4, oid::INT2],
            oid::FLOAT4 | oid::FLOAT8 => &[oid::FLOAT8],
            oid::NUMERIC => &[oid::NUMERIC],
            oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
                &[oid::INTERVAL]
            }
            oid::INTERVAL => &[oid::INTERVAL],
            _ => &[],
        };
        let words = self.type_words(ordered);
        if own.is_empty() {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {words}"
            );
            return Err(fault("0A000", at, message));
        }
        let preferred = if source == oid::UNKNOWN && own.contains(&base) { base } else { own[0] };
        let target = if own.contains(&source) { source } else { preferred };
        if !self.can_coerce(source, target, CastContext::Implicit) {
            let offset = self.type_words(source);
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {words} and offset type {offset}"
            );
            return Err(
                fault("0A000", at, message).hint("Cast the offset value to an appropriate type.")
            );
        }
        self.coerce(value, target, -1, Wish::IMPLICIT)
    }
}

/// What a window takes over from the one that it names.
fn copy(definition: WindowDef<'_>, base: &Window, window: &mut Window, at: Location) -> Result<()> {
    let name = definition.refname().unwrap_or_default();
    if !definition.partition_clause().is_empty() {
        let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
        return Err(fault("42P20", at, message));
    }
    window.partition = base.partition.clone();
    if !base.order.is_empty() {
        if !definition.order_clause().is_empty() {
            let message = format!("cannot override ORDER BY clause of window \"{name}\"");
            return Err(fault("42P20", at, message));
        }
        window.order = base.order.clone();
    }
    if base.frame.options & NOT_DEFAULT != 0 {
        let message = format!("cannot copy window \"{name}\" because it has a frame clause");
        let error = fault("42P20", at, message);
        let is_bare = definition.name().is_none()
            && definition.order_clause().is_empty()
            && definition.frame_options() & NOT_DEFAULT == 0;
        return Err(if is_bare {
            error.hint("Omit the parentheses in this OVER clause.")
        } else {
            error
        });
    }
    Ok(())
}
