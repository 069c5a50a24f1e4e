//! The integration tests in one program, which compiles and runs in less time than one for each
//! file. Tests of memory have their own.

mod common;

mod bfv;
mod circuits;
mod evaluator;
mod products;
mod reference;
mod rotations;
mod tail;
