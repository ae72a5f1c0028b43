//! Logs and metrics.
//!
//! Owns how a log line is written (stderr, text or JSON, nothing hidden in it) and the names of the metrics. Must not
//! hold state of its own, and never sees a secret: whatever is logged has no field of type `Secret`.
//! Tests: `src/telemetry/tests.rs`.

mod log;
mod metric;
#[cfg(test)]
mod tests;

pub use log::{Format, TelemetryError, start};
pub use metric::{METRICS, Metric, MetricKind, recorder};
