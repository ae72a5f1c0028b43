//! Names: the resolver that sandboxes ask, and the one question the router itself asks upstream.

pub mod resolve;
pub mod serve;
pub mod wire;
