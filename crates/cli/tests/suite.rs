//! All integration tests in one program, which compiles and runs in less time than one program for
//! each file.

mod common;

mod command;
mod files;
mod keys;
mod programs;
