//! The papers tables and the peers, side by side.
fn main() {}
