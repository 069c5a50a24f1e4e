//! All integration tests in one program, which compiles and runs in less time than one program for
//! each file. The tests of memory have their own programs.

mod common;
#[path = "../../../fuzz/entry.rs"]
mod entry;
mod stranger;
mod wire_common;

mod bits;
mod bootstrap_to;
mod bootstrapping;
mod clustering;
mod combinations;
mod common_errors;
mod comparison;
mod decisions;
mod division;
mod entries;
mod functions;
mod gates;
mod integers;
mod iterations;
mod look_ups;
mod matrices;
mod moves;
mod order;
mod programs;
mod refusals;
mod reserve;
mod schemes;
mod server;
mod simulated_comparison;
mod simulated_look_ups;
mod simulation;
mod stopping;
mod strays;
mod threads;
mod trees;
mod wire_hostile;
mod wire_round_trip;
mod wire_stranger;
