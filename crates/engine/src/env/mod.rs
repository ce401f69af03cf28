//! The outside world as traits: clock, files, randomness, threads. Real or simulated.
