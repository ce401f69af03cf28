//! The C side: what `c/parse.h` declares, and the one call of it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use crate::SyntaxError;
use crate::arena::Arena;
use crate::notice::{Notice, Severity};

#[repr(C)]
struct Report {
    message: *const c_char,
    detail: *const c_char,
    hint: *const c_char,
    next: *const Report,
    sqlstate: c_int,
    position: c_int,
    is_warning: c_int,
}

#[repr(C)]
struct Outcome {
    arena: *mut c_void,
    statements: *const c_void,
    error: *const Report,
    notices: *const Report,
}

/// How much a parse may take.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub arena_bytes: usize,
    pub stack_kilobytes: c_int,
}

unsafe extern "C" {
    fn syntax_parse(text: *const c_char, room: *const Room, outcome: *mut Outcome);
    fn syntax_end_thread();
    fn syntax_tag_name(tag: c_int) -> *const c_char;
}

/// What the C parser gives for a text that it takes.
pub struct Raw {
    pub arena: Arena,
    /// A List of RawStmt in the arena; none where the text has no statement.
    pub statements: Option<NonNull<c_void>>,
    pub notices: Vec<Notice>,
}

/// Frees the library's state of a thread when the thread ends.
struct Thread;

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: arenas that still live belong to no thread.
        unsafe { syntax_end_thread() }
    }
}

thread_local! {
    static THREAD: Thread = const { Thread };
}

/// Parses on this thread.
pub fn parse(text: &CStr, room: Room) -> Result<Raw, SyntaxError> {
    // A thread that is ending already keeps its state, about 16 KiB.
    let _ = THREAD.try_with(|_| ());
    let mut outcome = Outcome {
        arena: std::ptr::null_mut(),
        statements: std::ptr::null(),
        error: std::ptr::null(),
        notices: std::ptr::null(),
    };
    // SAFETY: the text ends with NUL, and all three live through the call.
    unsafe { syntax_parse(text.as_ptr(), &room, &mut outcome) };
    let arena = NonNull::new(outcome.arena).expect("every outcome has an arena");
    // SAFETY: nobody else has it.
    let arena = unsafe { Arena::new(arena) };
    // SAFETY: the reports lie in the arena, which lives until the end of this function.
    let (notices, error) = unsafe { (notices(outcome.notices), outcome.error.as_ref()) };
    match error {
        // SAFETY: as above.
        Some(report) => Err(unsafe { failure(report, notices) }),
        None => Ok(Raw { arena, statements: NonNull::new(outcome.statements.cast_mut()), notices }),
    }
}

/// A node's kind, in PostgreSQL's words.
pub fn tag_name(tag: u32) -> &'static str {
    // SAFETY: it takes any number, and gives NULL or a constant of the library.
    let name = unsafe {
        let name = syntax_tag_name(c_int::try_from(tag).unwrap_or(-1));
        (!name.is_null()).then(|| CStr::from_ptr::<'static>(name))
    };
    let name = name.unwrap_or_else(|| panic!("{tag} is no kind of node"));
    name.to_str().expect("kinds of nodes are named in ASCII")
}

/// # Safety
/// `text` is NULL or a C string.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// `report` is NULL or the first of a list of valid reports.
unsafe fn notices(mut report: *const Report) -> Vec<Notice> {
    let mut found = Vec::new();
    // SAFETY: as the caller says.
    while let Some(given) = unsafe { report.as_ref() } {
        found.push(Notice {
            severity: if given.is_warning == 0 { Severity::Notice } else { Severity::Warning },
            // SAFETY: as above.
            error: unsafe { failure(given, Vec::new()) },
        });
        report = given.next;
    }
    found
}

/// # Safety
/// The report's texts are valid.
unsafe fn failure(report: &Report, notices: Vec<Notice>) -> SyntaxError {
    // SAFETY: as the caller says.
    let (message, detail, hint) =
        unsafe { (text(report.message), text(report.detail), text(report.hint)) };
    SyntaxError {
        sqlstate: unpacked(report.sqlstate),
        message: message.unwrap_or_default(),
        detail,
        hint,
        position: usize::try_from(report.position).ok().filter(|position| *position > 0),
        notices,
    }
}

/// PostgreSQL packs the five characters of an SQLSTATE into six bits each, the first lowest.
fn unpacked(sqlstate: c_int) -> [u8; 5] {
    std::array::from_fn(|at| ((sqlstate >> (6 * at)) & 0x3F) as u8 + b'0')
}
