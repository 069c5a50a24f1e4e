//! All integration tests in one program. It compiles and runs faster than one program for each
//! file. Tests of memory are programs of their own.

mod common;

mod bfv;
mod circuits;
mod evaluator;
mod products;
mod reference;
mod rotations;
mod tail;
