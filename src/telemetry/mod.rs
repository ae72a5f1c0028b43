//! Logs and metrics.
//!
//! Owns the format of log lines (stderr, text or JSON, control characters escaped) and the metrics' names. Must not hold state of its own,
//! and never sees a secret: logged values have no field of type `Secret`.
//! Tests: `src/telemetry/tests.rs`.

mod log;
mod metric;
#[cfg(test)]
mod tests;

pub use log::{Format, TelemetryError, start};
pub use metric::{METRICS, Metric, MetricKind, recorder, upkeep};
