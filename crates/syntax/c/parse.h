/* What Rust and C share; src/library.rs has the same declarations. */

#ifndef SYNTAX_PARSE_H
#define SYNTAX_PARSE_H

#include <stddef.h>

/* An error, a warning or a notice. The texts lie in the arena; absent ones are NULL. */
typedef struct SyntaxReport
{
	const char *message;
	const char *detail;
	const char *hint;
	struct SyntaxReport *next;
	int			sqlstate;	/* five characters of six bits, the first lowest */
	int			position;	/* in characters from 1; 0: none */
	int			is_warning; /* of a notice: whether it is a WARNING */
} SyntaxReport;

/* `error` is NULL where the text was parsed; then `statements` is a List of RawStmt, or NULL where there is no statement. */
typedef struct SyntaxResult
{
	void	   *arena;
	void	   *statements;
	SyntaxReport *error;
	SyntaxReport *notices;
} SyntaxResult;

/* How much a parse may take. */
typedef struct SyntaxRoom
{
	size_t		arena_bytes;
	int			stack_kilobytes;
} SyntaxRoom;

void		syntax_parse(const char *text, const SyntaxRoom *room, SyntaxResult *result);
size_t		syntax_arena_bytes(const void *arena);
void		syntax_free(void *arena);
void		syntax_end_thread(void);
const char *syntax_tag_name(int tag);

#endif
