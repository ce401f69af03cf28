//! Tests of the write side, from submitting to what a reader sees.

mod checkpoints;
mod constraints;
mod crash;
mod disk;
mod ended;
mod exclusion;
mod fixture;
mod gather;
mod isolation;
mod load;
mod locks;
mod rewrite;
mod twin;
mod writes;
