//! What operations keep and give up: precision, capacity, bootstraps, dry runs, and advice where capacity lacks.

pub(in crate::server) mod advice;
pub(in crate::server) mod bootstrap;
pub(in crate::server) mod dry_run;
pub(in crate::server) mod policy;
pub(in crate::server) mod prices;
