//! Key switching: hybrid, with any gadget rank (HK20), in one pass that ends in one modulus switch.

pub(crate) mod gadget;
mod switch;

pub use switch::Decomposed;
