//! Trees as text.
