//! The integration tests in one program, which compiles and runs faster than one program for each
//! file. Tests of memory have a program of their own.

mod common;

mod design;
mod double;
mod dry_run;
mod grafted;
mod key_modulus;
mod key_transfer;
mod laks;
mod noise;
mod planner;
mod prime_switching;
mod products;
mod raise_modulus;
mod robustness;
mod rotation_sum;
mod switch_modulus;
