/*
 * One call of PostgreSQL's raw parser: a text becomes a tree in an arena of its own, or an error. Nothing of Rust stands between PG_TRY
 * and the parser, for errors leave the parser by longjmp.
 *
 * The state of the library is one per thread. It is made at a thread's first parse and freed by syntax_end_thread; pg_query_init is not
 * used, for it would take a pthread key per thread and never give it back.
 */

#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "parser/parser.h"
#include "utils/guc.h"
#include "utils/guc_hooks.h"
#include "utils/memutils.h"

#include "parse.h"

/* libpg_query's; none of its headers declares it. */
extern void AllocSetDeleteFreeList(void);

/* What the running parse of this thread has and may take. */
static __thread MemoryContext arena = NULL;
static __thread size_t arena_limit = 0;
static __thread SyntaxReport **next_notice = NULL;

/* PostgreSQL's own allocator, and the same with a limit. */
static __thread const MemoryContextMethods *unlimited = NULL;
static __thread MemoryContextMethods limited;

static void *
allocate_within_limit(MemoryContext context, Size size, int flags)
{
	if (context->mem_allocated + size > arena_limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("statement is too long"),
				 errdetail("Its parse tree would take more than %zu bytes.", arena_limit)));
	return unlimited->alloc(context, size, flags);
}

static const char *
kept(const char *text)
{
	return text ? MemoryContextStrdup(arena, text) : NULL;
}

static SyntaxReport *
report_of(const ErrorData *data)
{
	SyntaxReport *report = MemoryContextAllocZero(arena, sizeof(SyntaxReport));

	report->message = kept(data->message);
	report->detail = kept(data->detail);
	report->hint = kept(data->hint);
	report->sqlstate = data->sqlerrcode;
	report->position = data->cursorpos;
	report->is_warning = data->elevel >= WARNING;
	return report;
}

/* Called by the library for what is no error; nothing goes to a log. */
static void
keep_notice(ErrorData *data)
{
	if (next_notice && data->elevel >= NOTICE)
	{
		*next_notice = report_of(data);
		next_notice = &(*next_notice)->next;
	}
	data->output_to_server = false;
}

static void
begin_thread(void)
{
	MemoryContextInit();
	SetDatabaseEncoding(PG_UTF8);
	emit_log_hook = keep_notice;
	log_min_messages = NOTICE;
	/* What the HINT of an exceeded stack names, as PostgreSQL has it by default; the limit itself is set by each parse. */
	max_stack_depth = 2048;
}

/* The least block differs from PostgreSQL's defaults, so that the arena never waits in a free list of its thread: trees are dropped by any. */
static void
begin_arena(size_t limit)
{
	arena = AllocSetContextCreate(NULL, "syntax", ALLOCSET_DEFAULT_INITSIZE, ALLOCSET_DEFAULT_INITSIZE, ALLOCSET_DEFAULT_MAXSIZE);
	unlimited = arena->methods;
	limited = *unlimited;
	limited.alloc = allocate_within_limit;
	arena_limit = limit;
	arena->methods = &limited;
	MemoryContextSwitchTo(arena);
}

static void
end_arena(void)
{
	MemoryContextSwitchTo(TopMemoryContext);
	if (arena)
		arena->methods = unlimited;
	arena = NULL;
	next_notice = NULL;
}

void
syntax_parse(const char *text, const SyntaxRoom *room, SyntaxResult *result)
{
	pg_stack_base_t stack;

	if (TopMemoryContext == NULL)
		begin_thread();
	stack = set_stack_base();
	assign_max_stack_depth(room->stack_kilobytes, NULL);
	memset(result, 0, sizeof(*result));
	next_notice = &result->notices;
	PG_TRY();
	{
		begin_arena(room->arena_bytes);
		result->statements = raw_parser(text, RAW_PARSE_DEFAULT);
	}
	PG_CATCH();
	{
		if (arena == NULL)
			abort();			/* no memory for 8 KiB */
		arena->methods = unlimited;
		MemoryContextSwitchTo(arena);
		result->statements = NULL;
		result->error = report_of(CopyErrorData());
		FlushErrorState();
	}
	PG_END_TRY();
	result->arena = arena;
	end_arena();
	restore_stack_base(stack);
}

size_t
syntax_arena_bytes(const void *arena)
{
	return ((const MemoryContextData *) arena)->mem_allocated;
}

void
syntax_free(void *arena)
{
	MemoryContextDelete(arena);
}

void
syntax_end_thread(void)
{
	MemoryContext top = TopMemoryContext;

	if (top == NULL)
		return;
	MemoryContextDelete(ErrorContext);
	TopMemoryContext = NULL;
	CurrentMemoryContext = NULL;
	ErrorContext = NULL;
	/* Puts it into the free list, which then goes whole. */
	top->methods->delete_context(top);
	AllocSetDeleteFreeList();
}
