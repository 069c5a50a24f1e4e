//! Programs: graphs of operations that are recorded once, planned as a whole, stored, and run by
//! any server.
//!
//! - [`Operation`] is one operation with its plain operands, as data.
//! - [`Recorder`] performs operations on arrays without residues and writes them down.
//! - Rewrites compute the same results with less work, where a dry run shows that they do.
//! - The planner places bootstraps, and gives every value the capacity that its consumers need.
//! - [`Program`] holds the graph, the decisions and the predicted cost, and runs on a server.
//! - [`Interface`] is the part of a program that its client needs.

mod any;
mod error_bound;
mod graph;
mod interface;
mod loops;
mod operation;
mod part;
mod placement;
mod plain;
mod planner;
mod program;
mod recorder;
mod rewrites;
mod run;
mod spec;

pub use any::{AnyArray, AnyKind};
pub use interface::{Input, Interface, InterfaceBody, Notes, Results};
pub use loops::LoopBody;
pub use operation::{InOrder, OfDifference, OfSign, Operation};
pub use part::Part;
pub use plain::{Plain, PlainNumber};
pub use program::{Cost, Planning, Program, ProgramBody, StepReport};
pub use recorder::Recorder;
pub use spec::{Spec, SpecKind};
