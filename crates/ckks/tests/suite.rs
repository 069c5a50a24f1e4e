//! All integration tests in one program, which compiles and runs in less time than one program per
//! file. Tests of memory have their own program.

mod common;

mod approximation;
mod big;
mod bits;
mod bootstrap;
mod circuits;
mod comparison;
mod dft;
mod dry_run;
mod entries;
mod evaluator;
mod fresh;
mod grafted;
mod prime_switching;
mod reduction;
mod second;
mod sparse_plaintexts;
mod threads;
mod tuple;
