/*
 * gram.c is compiled with exprLocation defined as syntax_location, for the library's function recurses without a check: a long chain of
 * operators behind ORDER BY would end the process where the grammar wants its position for an error. Chains to the left are walked here by
 * iteration; what stands in front of its operands nests at most as deep as the grammar's own stack.
 */

#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"

extern int	syntax_location(const Node *node);

static int
leftmost(int one, int other)
{
	if (one < 0)
		return other;
	return other < 0 ? one : Min(one, other);
}

/* The operand that may stand to the left of a node's own token, or NULL; `own` receives that token's position. */
static const Node *
left_operand(const Node *node, int *own)
{
	switch (nodeTag(node))
	{
		case T_SortBy:
			*own = -1;
			return ((const SortBy *) node)->node;
		case T_A_Expr:
			*own = ((const A_Expr *) node)->location;
			return ((const A_Expr *) node)->lexpr;
		case T_TypeCast:
			*own = leftmost(((const TypeCast *) node)->location, ((const TypeCast *) node)->typeName->location);
			return ((const TypeCast *) node)->arg;
		case T_CollateClause:
			*own = ((const CollateClause *) node)->location;
			return ((const CollateClause *) node)->arg;
		case T_NullTest:
			*own = ((const NullTest *) node)->location;
			return (const Node *) ((const NullTest *) node)->arg;
		case T_BooleanTest:
			*own = ((const BooleanTest *) node)->location;
			return (const Node *) ((const BooleanTest *) node)->arg;
		case T_BoolExpr:
			*own = ((const BoolExpr *) node)->location;
			return (const Node *) ((const BoolExpr *) node)->args;
		case T_FuncCall:
			*own = ((const FuncCall *) node)->location;
			return (const Node *) ((const FuncCall *) node)->args;
		case T_SubLink:
			*own = ((const SubLink *) node)->location;
			return ((const SubLink *) node)->testexpr;
		case T_XmlExpr:
			*own = ((const XmlExpr *) node)->location;
			return (const Node *) ((const XmlExpr *) node)->args;
		case T_JsonIsPredicate:
			*own = ((const JsonIsPredicate *) node)->location;
			return ((const JsonIsPredicate *) node)->expr;
		default:
			*own = exprLocation(node);
			return NULL;
	}
}

/* Where the text of a node begins, in bytes; -1 where that is not known. */
int
syntax_location(const Node *node)
{
	int			found = -1;

	while (node)
	{
		int			own = -1;

		if (IsA(node, List))
			node = linitial((const List *) node);
		else
			node = left_operand(node, &own);
		found = leftmost(found, own);
	}
	return found;
}
