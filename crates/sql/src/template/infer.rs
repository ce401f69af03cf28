//! Types of parameters from their context, as PostgreSQL infers them.
//!
//! DataFusion infers some; this walk over the planned but not yet analyzed statement finds the others: function
//! arguments, CASE, arithmetic, LIMIT, boolean contexts.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Case, InList, Like, ScalarFunction};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use super::parameters::{Parameters, placeholder_index};
use crate::bounded::checkpoint;
use crate::dialect::{Branches, array_beside, branches, is_quantified};

/// `numeric` without precision.
const UNCONSTRAINED: DataType = DataType::Decimal128(38, 10);

/// Learns what the plan says about its parameters; whether that was news.
pub fn infer(plan: &LogicalPlan, parameters: &mut Parameters) -> Result<bool> {
    let mut changed = false;
    plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::clone(node.schema());
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        let mut inference = Inference { schema: &schema, parameters, changed: false };
        inference.node(node)?;
        changed |= inference.changed;
        bound_blanks(node, parameters)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(changed)
}

/// The parameter that is an item of a SELECT.
fn item(select: &LogicalPlan, column: usize) -> Option<&Expr> {
    let LogicalPlan::Projection(projection) = select else { return None };
    let item = match projection.expr.get(column)? {
        Expr::Alias(alias) => alias.expr.as_ref(),
        item => item,
    };
    matches!(item, Expr::Placeholder(_)).then_some(item)
}

/// Parameters of unknown type that are compared with `char(n)` columns.
fn bound_blanks(node: &LogicalPlan, parameters: &mut Parameters) -> Result<()> {
    node.apply_expressions(|expr| {
        bound_compared(expr, &|column| is_char(node, column), parameters)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The same for one expression; `is_char` tells the columns.
pub fn bound_compared(
    expr: &Expr,
    is_char: &dyn Fn(&datafusion::common::Column) -> bool,
    parameters: &mut Parameters,
) -> Result<()> {
    let mut pair = |column: &Expr, parameter: &Expr| {
        if let (Expr::Column(column), Expr::Placeholder(parameter)) = (column, parameter)
            && is_char(column)
            && let Ok(index) = placeholder_index(&parameter.id)
            && !parameters.is_declared(index)
        {
            parameters.bound_blanks(index);
        }
    };
    expr.apply(|expr| {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
                pair(left, right);
                pair(right, left);
            }
            Expr::InList(list) => list.list.iter().for_each(|item| pair(&list.expr, item)),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn is_char(node: &LogicalPlan, column: &datafusion::common::Column) -> bool {
    node.inputs().into_iter().any(|input| {
        let index = input.schema().maybe_index_of_column(column);
        let origin = index.and_then(|index| super::origin::origin(input, index));
        origin.is_some_and(|origin| matches!(origin.data_type, engine::types::DataType::Char(_)))
    })
}

/// The same for one expression over a schema, with the type that its context wants.
pub fn infer_expression(
    expr: &Expr,
    schema: &DFSchema,
    wanted: Option<&DataType>,
    parameters: &mut Parameters,
) -> Result<bool> {
    let mut inference = Inference { schema, parameters, changed: false };
    inference.expr(expr, wanted)?;
    Ok(inference.changed)
}

struct Inference<'a> {
    schema: &'a DFSchema,
    parameters: &'a mut Parameters,
    changed: bool,
}

impl Inference<'_> {
    fn node(&mut self, node: &LogicalPlan) -> Result<()> {
        match node {
            LogicalPlan::Filter(filter) => self.expr(&filter.predicate, Some(&DataType::Boolean)),
            LogicalPlan::Limit(limit) => {
                let counts = limit.skip.iter().chain(&limit.fetch);
                counts.into_iter().try_for_each(|count| self.expr(count, Some(&DataType::Int64)))
            }
            LogicalPlan::Values(values) => self.values(&values.values),
            LogicalPlan::Union(union) => self.union(&union.inputs),
            LogicalPlan::Join(join) => {
                for (left, right) in &join.on {
                    self.pair(left, right)?;
                }
                join.filter.iter().try_for_each(|f| self.expr(f, Some(&DataType::Boolean)))
            }
            other => {
                let mut result = Ok(());
                other.apply_expressions(|expr| {
                    result = self.expr(expr, None);
                    let go_on = result.is_ok();
                    Ok(if go_on { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
                })?;
                result
            }
        }
    }

    fn values(&mut self, rows: &[Vec<Expr>]) -> Result<()> {
        let width = rows.first().map_or(0, Vec::len);
        for column in 0..width {
            let cells: Vec<&Expr> = rows.iter().filter_map(|row| row.get(column)).collect();
            self.alike(&cells, None)?;
        }
        Ok(())
    }

    /// An item of a SELECT that has no type takes that of its column in the others.
    fn union(&mut self, inputs: &[Arc<LogicalPlan>]) -> Result<()> {
        let width = inputs.first().map_or(0, |input| input.schema().fields().len());
        for column in 0..width {
            let types = inputs.iter().map(|input| input.schema().field(column).data_type());
            let Some(known) = types.into_iter().find(|known| !known.is_null()).cloned() else {
                continue;
            };
            for item in inputs.iter().filter_map(|input| item(input, column)) {
                self.operand(item, Some(&known))?;
            }
        }
        Ok(())
    }

    fn type_of(&self, expr: &Expr) -> Option<DataType> {
        expr.get_type(self.schema).ok().filter(|t| !t.is_null())
    }

    fn expr(&mut self, expr: &Expr, wanted: Option<&DataType>) -> Result<()> {
        checkpoint().map_err(|e| datafusion::common::DataFusionError::External(Box::new(e)))?;
        match expr {
            Expr::Placeholder(placeholder) => {
                let index = placeholder_index(&placeholder.id)
                    .map_err(|e| datafusion::common::DataFusionError::External(Box::new(e)))?;
                let own = placeholder.field.as_ref().map(|field| field.data_type());
                if let Some(known) = own.filter(|t| !t.is_null()).or(wanted) {
                    self.changed |= self.parameters.learn(index, known);
                }
                Ok(())
            }
            Expr::Alias(alias) => self.expr(&alias.expr, wanted),
            Expr::BinaryExpr(binary) => self.binary(binary, wanted),
            Expr::Like(like) => self.like(like),
            Expr::InList(list) => self.in_list(list),
            Expr::Between(between) => {
                self.compare(&between.expr, &between.low)?;
                self.compare_again(&between.expr, &between.high)
            }
            Expr::Case(case) => self.case(case, wanted),
            Expr::Cast(cast) => self.expr(&cast.expr, Some(cast.field.data_type())),
            Expr::TryCast(cast) => self.expr(&cast.expr, Some(cast.field.data_type())),
            Expr::Not(inner)
            | Expr::IsTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsNotFalse(inner) => self.expr(inner, Some(&DataType::Boolean)),
            Expr::Negative(inner) => self.expr(inner, wanted),
            Expr::ScalarFunction(function) => self.function(function, wanted),
            Expr::InSubquery(subquery) => {
                let column = subquery.subquery.subquery.schema().fields().first().cloned();
                self.expr(&subquery.expr, column.as_ref().map(|field| field.data_type()))
            }
            other => {
                let mut result = Ok(());
                other.apply_children(|child| {
                    result = self.expr(child, None);
                    let go_on = result.is_ok();
                    Ok(if go_on { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
                })?;
                result
            }
        }
    }

    /// Two operands that take each other's type.
    fn pair(&mut self, left: &Expr, right: &Expr) -> Result<()> {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        self.expr(left, right_type.as_ref())?;
        self.expr(right, left_type.as_ref())
    }

    /// Like [`Self::pair`], and number literals take the other side's type.
    fn compare(&mut self, left: &Expr, right: &Expr) -> Result<()> {
        self.adopt(left, right);
        self.adopt(right, left);
        self.pair(left, right)
    }

    /// The same with another right side: what is on the left was looked through, and would be twice at each level.
    fn compare_again(&mut self, left: &Expr, right: &Expr) -> Result<()> {
        if matches!(left, Expr::Placeholder(_)) {
            return self.compare(left, right);
        }
        self.adopt(right, left);
        let left_type = self.type_of(left);
        self.expr(right, left_type.as_ref())
    }

    fn adopt(&mut self, literal: &Expr, other: &Expr) {
        if matches!(other, Expr::Placeholder(_)) {
            return;
        }
        if let Expr::Placeholder(placeholder) = literal
            && let Ok(index) = placeholder_index(&placeholder.id)
            && let Some(data_type) = self.type_of(other)
        {
            self.changed |= self.parameters.adopt(index, &data_type);
        }
    }

    fn binary(&mut self, binary: &BinaryExpr, wanted: Option<&DataType>) -> Result<()> {
        let BinaryExpr { left, op, right } = binary;
        match op {
            Operator::And | Operator::Or => {
                self.expr(left, Some(&DataType::Boolean))?;
                self.expr(right, Some(&DataType::Boolean))
            }
            Operator::StringConcat => {
                self.text(left)?;
                self.text(right)
            }
            op if op.supports_propagation() => self.compare(left, right),
            op if op.is_numerical_operators() => self.arithmetic(left, *op, right, wanted),
            _ => self.pair(left, right),
        }
    }

    /// What is put together with another text. DataFusion's planner would give a parameter the type of its neighbour.
    fn text(&mut self, expr: &Expr) -> Result<()> {
        if let Expr::Placeholder(placeholder) = expr {
            let index = placeholder_index(&placeholder.id)
                .map_err(|e| datafusion::common::DataFusionError::External(Box::new(e)))?;
            self.changed |= self.parameters.learn(index, &DataType::Utf8View);
        }
        self.expr(expr, Some(&DataType::Utf8View))
    }

    fn arithmetic(
        &mut self,
        left: &Expr,
        op: Operator,
        right: &Expr,
        wanted: Option<&DataType>,
    ) -> Result<()> {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        let for_left = right_type.clone().or_else(|| wanted.cloned());
        // `date + $1` adds days; `timestamp + $1` would be an interval, which parameters cannot be.
        let for_right = match left_type {
            Some(DataType::Date32) if op == Operator::Plus => Some(DataType::Int32),
            Some(known) => Some(known),
            None => wanted.cloned(),
        };
        self.operand(left, for_left.as_ref())?;
        self.operand(right, for_right.as_ref())
    }

    /// A factor, a summand or another branch beside a numeric has digits of its own: it does not take the other's scale.
    fn operand(&mut self, expr: &Expr, wanted: Option<&DataType>) -> Result<()> {
        match (expr, wanted) {
            (Expr::Placeholder(placeholder), Some(DataType::Decimal128(..))) => {
                let index = placeholder_index(&placeholder.id)
                    .map_err(|e| datafusion::common::DataFusionError::External(Box::new(e)))?;
                self.changed |= self.parameters.learn(index, &UNCONSTRAINED);
                Ok(())
            }
            _ => self.expr(expr, wanted),
        }
    }

    fn like(&mut self, like: &Like) -> Result<()> {
        self.expr(&like.expr, Some(&DataType::Utf8View))?;
        self.expr(&like.pattern, Some(&DataType::Utf8View))
    }

    fn in_list(&mut self, list: &InList) -> Result<()> {
        let typed = self.type_of(&list.expr);
        let typed = typed.or_else(|| list.list.iter().find_map(|item| self.type_of(item)));
        self.expr(&list.expr, typed.as_ref())?;
        for item in &list.list {
            self.adopt(item, &list.expr);
            self.expr(item, typed.as_ref())?;
        }
        Ok(())
    }

    /// A value and an array of its type.
    fn quantified(&mut self, value: &Expr, array: &Expr) -> Result<()> {
        let item = match self.type_of(array) {
            Some(DataType::List(item)) => Some(item.data_type().clone()),
            _ => None,
        };
        let wanted = self.type_of(value).map(|own| array_beside(&own));
        self.expr(value, item.as_ref())?;
        self.expr(array, wanted.as_ref())
    }

    fn case(&mut self, case: &Case, wanted: Option<&DataType>) -> Result<()> {
        let arms = case.when_then_expr.iter().map(|(when, then)| (&**when, &**then)).collect();
        let (operand, otherwise) = (case.expr.as_deref(), case.else_expr.as_deref());
        self.branches(&Branches { operand, arms, otherwise }, wanted)
    }

    fn branches(&mut self, branches: &Branches<'_, Expr>, wanted: Option<&DataType>) -> Result<()> {
        for (position, (when, _)) in branches.arms.iter().enumerate() {
            match branches.operand {
                Some(operand) if position == 0 => self.compare(operand, when)?,
                Some(operand) => self.compare_again(operand, when)?,
                None => self.expr(when, Some(&DataType::Boolean))?,
            }
        }
        let results: Vec<&Expr> = branches.results().collect();
        self.alike(&results, wanted)
    }

    /// Expressions of one type: that of the first whose type is known.
    fn alike(&mut self, exprs: &[&Expr], wanted: Option<&DataType>) -> Result<()> {
        let known = exprs.iter().find_map(|expr| self.type_of(expr));
        let known = known.or_else(|| wanted.cloned());
        exprs.iter().try_for_each(|expr| self.operand(expr, known.as_ref()))
    }

    fn function(&mut self, function: &ScalarFunction, wanted: Option<&DataType>) -> Result<()> {
        if let Some(branches) = branches(function) {
            return self.branches(&branches, wanted);
        }
        let arguments: Vec<&Expr> = function.args.iter().collect();
        if matches!(function.func.name(), "coalesce" | "nullif" | "greatest" | "least") {
            return self.alike(&arguments, wanted);
        }
        if let ([value, array], true) = (arguments.as_slice(), is_quantified(function)) {
            return self.quantified(value, array);
        }
        let fields = arguments.iter().map(|a| a.to_field(self.schema).map(|(_, field)| field));
        let coerced = fields
            .collect::<Result<Vec<_>>>()
            .and_then(|fields| fields_with_udf(&fields, function.func.as_ref()));
        for (i, argument) in arguments.iter().enumerate() {
            let wanted = coerced.as_ref().ok().and_then(|fields| fields.get(i));
            let wanted = wanted.map(|field| field.data_type().clone()).filter(|t| !t.is_null());
            self.expr(argument, wanted.as_ref())?;
        }
        Ok(())
    }
}
