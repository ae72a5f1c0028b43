//! The metrics with names and descriptions, and their recorder.

use super::log::TelemetryError;
use metrics::Unit;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::time::Duration;

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A count that only rises, from 0 at the start of the process.
    Counter,
    /// Durations in seconds, counted in buckets.
    Histogram,
}

/// One metric as `/metrics` shows it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Full name, as in `/metrics`.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// Names of its labels; empty where it has none.
    pub labels: &'static str,
    /// Description, a sentence for people.
    pub help: &'static str,
}

/// Every metric of the process. Labels have only values of our own and keys of configured repositories: no login, path or host.
pub const METRICS: [Metric; 7] = [
    Metric {
        name: "caisson_hooks_total",
        kind: MetricKind::Counter,
        labels: "repository, result",
        help: "Hooks that arrived, by what became of them and, where it is known, by repository.",
    },
    Metric {
        name: "caisson_ops_refused_total",
        kind: MetricKind::Counter,
        labels: "",
        help: "Connections to the operations' listener that were closed at once, because too many were open.",
    },
    Metric {
        name: "caisson_effect_seconds",
        kind: MetricKind::Histogram,
        labels: "kind",
        help: "How long an effect took, failed tries included, by its kind.",
    },
    Metric {
        name: "caisson_egress_dropped_total",
        kind: MetricKind::Counter,
        labels: "",
        help: "Lines of the router's log that were not kept because the store fell behind.",
    },
    Metric {
        name: "caisson_outbox_failures_total",
        kind: MetricKind::Counter,
        labels: "",
        help: "Times a task's queue could not go on: a row that cannot be read or stored, a panic.",
    },
    Metric {
        name: "caisson_panics_total",
        kind: MetricKind::Counter,
        labels: "work",
        help: "Panics, by the work that was caught in one; an effect by its kind.",
    },
    Metric {
        name: "caisson_store_failures_total",
        kind: MetricKind::Counter,
        labels: "",
        help: "Times the store's writer failed and went on with a new connection, or refused what made it panic.",
    },
];

/// Upper bounds of buckets in seconds, from one store commit to a verification.
const SECONDS: [f64; 12] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0];

/// Installs the process's recorder and describes every metric; to be called once.
pub fn recorder() -> Result<PrometheusHandle, TelemetryError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|_| TelemetryError::Recorder)?;
    for metric in METRICS {
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(metric.name, metric.help),
            MetricKind::Histogram => metrics::describe_histogram!(metric.name, Unit::Seconds, metric.help),
        }
    }
    Ok(handle)
}

/// Counts durations into their buckets, forever; otherwise each stays in memory until somebody reads `/metrics`.
pub async fn upkeep(handle: PrometheusHandle, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        handle.run_upkeep();
    }
}
