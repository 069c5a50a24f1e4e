//! Linear maps with plain weights: sums along axes, cumulative sums, convolutions and other
//! weighted sums of elements.

pub(in crate::server) mod combinations;
pub(in crate::server) mod convolution;
pub(in crate::server) mod cumsum;
pub(in crate::server) mod map;
pub(in crate::server) mod map_cache;
pub(in crate::server) mod reduce;
