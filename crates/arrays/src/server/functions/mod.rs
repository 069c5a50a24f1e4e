//! Functions of elements: arithmetic, polynomials, comparisons, look-up tables and sorting.

pub(in crate::server) mod application;
pub(in crate::server) mod arithmetic;
pub(in crate::server) mod comparison;
pub(in crate::server) mod comparison_by_tables;
pub(in crate::server) mod complex;
pub(in crate::server) mod division;
pub(in crate::server) mod entries;
pub(in crate::server) mod equality;
pub(in crate::server) mod latest;
pub(in crate::server) mod lines;
pub(in crate::server) mod named;
pub(in crate::server) mod order_by_comparators;
pub(in crate::server) mod order_by_pairs;
pub(in crate::server) mod pieces;
pub(in crate::server) mod polynomial;
pub(in crate::server) mod polynomial_in_parts;
pub(in crate::server) mod polynomial_of_sines;
pub(in crate::server) mod power;
pub(in crate::server) mod quantile;
pub(in crate::server) mod sort;
pub(in crate::server) mod steep;
pub(in crate::server) mod tables;

/// The number of standard deviations that the largest error of an approximated function counts as
/// in the stated error of a result (chosen). The largest noise of thousands of values is about
/// eight deviations too.
pub(crate) const DEVIATIONS_OF_LARGEST_ERROR: f64 = 8.0;
