//! DNS: the resolver for sandboxes, and the router's own questions to the upstream server.

pub mod resolve;
pub mod serve;
pub mod wire;
