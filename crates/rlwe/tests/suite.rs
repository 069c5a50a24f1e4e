//! The integration tests in one program, which compiles and runs in less time than one for each
//! file. Tests of memory have their own.

mod common;

mod design;
mod double;
mod dry_run;
mod grafted;
mod key_modulus;
mod laks;
mod noise;
mod planner;
mod prime_switching;
mod products;
mod raise;
mod robustness;
mod rotation_sum;
mod second;
mod switch_modulus;
