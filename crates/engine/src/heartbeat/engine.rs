//! The engine's door.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::read::{Figures, Reads};
use super::write::{Tuning, WriteHeartbeat};
use super::{Answer, Exposure, Receiver, Template};
