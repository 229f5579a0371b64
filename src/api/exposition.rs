//! The text that Prometheus reads (spec: slo 1.8): text 0.0.4 or OpenMetrics 1.0, whichever is asked for. One
//! group per family; what has no sample is left out, and so is what is no number: absent means unknown.

use std::fmt::Write;

use axum::http::{HeaderMap, header};

/// Which of the two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    OpenMetrics,
}

impl Format {
    /// By the Accept header: OpenMetrics when it is asked for by name and text is not liked better.
    pub fn asked_for(headers: &HeaderMap) -> Self {
        let (mut open, mut text) = (0.0_f32, 0.0_f32);
        for value in headers.get_all(header::ACCEPT).iter().filter_map(|v| v.to_str().ok()) {
            for range in value.split(',') {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default().to_ascii_lowercase();
                let weight = parts.find_map(|p| p.strip_prefix("q=")?.trim().parse().ok());
                let weight: f32 = weight.unwrap_or(1.0);
                match name.as_str() {
                    "application/openmetrics-text" => open = open.max(weight),
                    "text/plain" | "text/*" => text = text.max(weight),
                    _ => {}
                }
            }
        }
        if open > 0.0 && open >= text { Self::OpenMetrics } else { Self::Text }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    /// Named without `_total`, which is put to its samples.
    Counter,
    Histogram,
    /// Named without `_info`, which is put to its samples; they are 1.
    Info,
}

/// Labels of a sample, in the order in which they are written.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page under way.
#[derive(Debug)]
pub struct Exposition {
    format: Format,
    text: String,
}

impl Exposition {
    pub fn new(format: Format) -> Self {
        Self { format, text: String::new() }
    }

    /// Begins a family; all of its samples are added before the next one begins.
    pub fn family(&mut self, kind: Kind, name: &str, help: &'static str) -> Family<'_> {
        Family { page: self, kind, name: name.to_owned(), help, begun: false }
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &'static str, value: f64) {
        self.family(Kind::Gauge, name, help).add(&[], value);
    }

    /// What another page holds, after this one.
    pub fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
    }

    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// One family of a page.
#[derive(Debug)]
pub struct Family<'a> {
    page: &'a mut Exposition,
    kind: Kind,
    name: String,
    help: &'static str,
    begun: bool,
}

impl Family<'_> {
    /// A sample; one that is no number is left out.
    pub fn add(&mut self, labels: Labels<'_>, value: f64) {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.sample(suffix, labels, None, value);
    }

    /// The same when there is a value.
    pub fn add_if(&mut self, labels: Labels<'_>, value: Option<f64>) {
        if let Some(value) = value {
            self.add(labels, value);
        }
    }

    /// A histogram: how many lie within each bound and beyond the one before, the last beyond all bounds.
    pub fn histogram(&mut self, labels: Labels<'_>, bounds: &[f64], counts: &[u64], sum: f64) {
        let mut seen = 0;
        for (place, count) in counts.iter().enumerate() {
            seen += count;
            let bound = bounds.get(place).map_or("+Inf".to_owned(), |bound| format!("{bound:?}"));
            self.sample("_bucket", labels, Some(&bound), seen as f64);
        }
        self.sample("_count", labels, None, seen as f64);
        self.sample("_sum", labels, None, sum);
    }

    fn sample(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.begin();
        let text = &mut self.page.text;
        text.push_str(&self.name);
        text.push_str(suffix);
        let mut open = '{';
        for (name, value) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            text.push(open);
            text.push_str(name);
            text.push_str("=\"");
            escape(text, value, true);
            text.push('"');
            open = ',';
        }
        if open == ',' {
            text.push('}');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {value}");
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let open = self.page.format == Format::OpenMetrics;
        // The older format knows families by the names of their samples.
        let (suffix, kind) = match self.kind {
            Kind::Gauge => ("", "gauge"),
            Kind::Histogram => ("", "histogram"),
            Kind::Counter => (if open { "" } else { "_total" }, "counter"),
            Kind::Info if open => ("", "info"),
            Kind::Info => ("_info", "gauge"),
        };
        let (name, text) = (&self.name, &mut self.page.text);
        let _ = write!(text, "# HELP {name}{suffix} ");
        escape(text, self.help, open);
        let _ = writeln!(text, "\n# TYPE {name}{suffix} {kind}");
    }
}

/// The older format leaves quotation marks in help texts as they are.
fn escape(text: &mut String, value: &str, quotes: bool) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(format: Format) -> String {
        let mut page = Exposition::new(format);
        let mut told = page.family(Kind::Counter, "q_told", "Told \"so\" with \\ and\nlines");
        told.add(&[("who", "a\\b\"c\nd"), ("where", "ü")], 3.0);
        told.add(&[], f64::NAN);
        page.family(Kind::Gauge, "q_nothing", "No sample").add_if(&[], None);
        page.family(Kind::Info, "q_slo", "What it is").add(&[("slo", "x")], 1.0);
        let mut took = page.family(Kind::Histogram, "q_took_seconds", "How long");
        took.histogram(&[("m", "x")], &[0.005, 1.0], &[2, 0, 1], 2.5);
        page.gauge("q_ratio", "A share", 0.25);
        page.finish()
    }

    #[test]
    fn text_names_families_by_their_samples() {
        let expected = "# HELP q_told_total Told \"so\" with \\\\ and\\nlines\n# TYPE q_told_total counter\n\
             q_told_total{who=\"a\\\\b\\\"c\\nd\",where=\"ü\"} 3\n\
             # HELP q_slo_info What it is\n# TYPE q_slo_info gauge\nq_slo_info{slo=\"x\"} 1\n\
             # HELP q_took_seconds How long\n# TYPE q_took_seconds histogram\n\
             q_took_seconds_bucket{m=\"x\",le=\"0.005\"} 2\nq_took_seconds_bucket{m=\"x\",le=\"1.0\"} 2\n\
             q_took_seconds_bucket{m=\"x\",le=\"+Inf\"} 3\nq_took_seconds_count{m=\"x\"} 3\n\
             q_took_seconds_sum{m=\"x\"} 2.5\n# HELP q_ratio A share\n# TYPE q_ratio gauge\nq_ratio 0.25\n";
        assert_eq!(page(Format::Text), expected);
    }

    #[test]
    fn open_metrics_ends_and_names_families_without_suffix() {
        let page = page(Format::OpenMetrics);
        assert!(page.starts_with(
            "# HELP q_told Told \\\"so\\\" with \\\\ and\\nlines\n# TYPE q_told counter\nq_told_total{"
        ));
        assert!(page.contains("# TYPE q_slo info\nq_slo_info{slo=\"x\"} 1\n"));
        assert!(page.ends_with("q_ratio 0.25\n# EOF\n"));
    }

    #[test]
    fn the_format_follows_the_accept_header() {
        let of = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            Format::asked_for(&headers)
        };
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(of(prometheus), Format::OpenMetrics);
        assert_eq!(of("text/plain, application/openmetrics-text; q=0.3"), Format::Text);
        assert_eq!(of("application/openmetrics-text; q=0"), Format::Text);
        assert_eq!(of("*/*"), Format::Text);
        assert_eq!(Format::asked_for(&HeaderMap::new()), Format::Text);
    }
}
