//! Planning: precision, capacity, bootstraps, prices, dry runs, and advice where capacity is
//! missing.

pub(in crate::server) mod advice;
pub(in crate::server) mod bootstrap;
pub(in crate::server) mod choose;
pub(in crate::server) mod dry_run;
pub(in crate::server) mod plan_cache;
pub(in crate::server) mod policy;
pub(in crate::server) mod prices;
