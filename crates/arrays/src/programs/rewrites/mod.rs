//! Rewrites: other graphs for the same results, which may take less time.
//!
//! A [`Rule`] looks for a pattern in a graph and replaces every instance of it. The planner keeps
//! the new graph if a dry run shows that it is faster.

mod dense;
mod functions;
mod gathers;
mod layouts;
mod products;
mod rebuilt;
#[cfg(test)]
mod tests;

pub(super) use rebuilt::Known;
use rebuilt::Rule;

/// All rules, in the order in which they are tried.
pub(super) const RULES: [Rule; 6] = [
    gathers::composed_gathers,
    products::added_products,
    dense::spread_rows,
    dense::dense_operands,
    functions::packed_functions,
    layouts::shared_layouts,
];
