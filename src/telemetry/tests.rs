use super::log::{Clean, filter, format};
use super::*;
use metrics_exporter_prometheus::PrometheusBuilder;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn a_log_line_hides_nothing_and_stays_one_line() {
    let host = "evil\u{1b}[31m\u{202e}\u{200d}\u{7f}\u{e0041}";
    for format in [Format::Text, Format::Json] {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let builder = tracing_subscriber::fmt().with_writer(Clean(move || writer.clone(), format)).with_ansi(false);
        let log = || tracing::info!(host, "one\ntwo\r");
        match format {
            Format::Json => tracing::subscriber::with_default(builder.json().finish(), log),
            Format::Text => tracing::subscriber::with_default(builder.finish(), log),
        }
        let text = buffer.text();
        if format == Format::Json {
            let line: serde_json::Value = serde_json::from_str(&text).expect("an object");
            assert_eq!(line["fields"]["host"], host, "{text:?}");
        }
        assert_eq!(text.lines().count(), 1, "{text:?}");
        assert!(!text.trim_end().chars().any(crate::text::is_hidden), "{text:?}");
    }
}

/// A stderr on a full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_line_that_cannot_be_written_is_lost_and_nothing_else_happens() {
    let mut writer = Clean(|| Full, Format::Text).make_writer();
    assert!(writer.write_all(b"one\n").is_ok() && writer.flush().is_ok());
}

#[test]
fn what_the_environment_says_wrongly_is_named() {
    assert!(filter(None).is_ok() && filter(Some("caisson=debug,warn")).is_ok());
    assert!(filter(Some("caisson=loud")).unwrap_err().to_string().contains("CAISSON_LOG="));
    assert_eq!(format(Some("json")).unwrap(), Format::Json);
    assert_eq!(
        format(Some("xml")).unwrap_err().to_string(),
        "CAISSON_LOG_FORMAT: \"xml\" is no format; write text or json"
    );
}

#[test]
fn every_metric_is_described_and_shown() {
    let handle = recorder().unwrap();
    metrics::counter!("caisson_hooks_total", "result" => "stored").increment(1);
    metrics::histogram!("caisson_effect_seconds", "kind" => "push").record(0.8);
    for counter in METRICS.iter().filter(|it| it.kind == MetricKind::Counter && it.name != "caisson_hooks_total") {
        metrics::counter!(counter.name).increment(1);
    }
    let text = handle.render();
    for metric in METRICS {
        assert!(text.contains(&format!("# HELP {} {}", metric.name, metric.help)), "{text}");
    }
    assert!(text.contains("caisson_effect_seconds_bucket{kind=\"push\",le=\"1\"} 1"), "{text}");
    assert!(recorder().is_err());
}

#[tokio::test]
async fn a_duration_is_counted_though_nobody_reads_the_metrics() {
    let recorder = PrometheusBuilder::new().set_buckets(&[1.0]).unwrap().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || metrics::histogram!("caisson_effect_seconds").record(0.8));
    let counted = || format!("{handle:?}").contains("Histogram { count: 1,");
    assert!(!counted(), "{handle:?}");
    let kept = tokio::spawn(upkeep(handle.clone(), Duration::from_millis(1)));
    let until_counted = async {
        while !counted() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), until_counted).await.expect("counted");
    kept.abort();
}
