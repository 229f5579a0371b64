//! Nobody is ready: what the requests of that time show, beside what the platform does then as documented
//! (spec: fleet, all-unready stretches). Platforms differ: some send requests to all all the same, others
//! answer 503 or 502, and a Service has nowhere to send them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    cell::Window,
    engine::thousands,
    event::Source,
    platform::{self, Platform},
    settings::Settings,
};

/// What was seen in the windows in which nobody was ready, for some of the time at least.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub requests: u64,
    /// Ended badly for the client.
    pub failed: u64,
    /// Nobody could be chosen for them.
    pub empty: u64,
    /// Answers to clients of 500 and above.
    pub codes: BTreeMap<u16, u64>,
    /// Instances that were asked all the same, as far as that is certain.
    pub asked: BTreeSet<String>,
}

impl Seen {
    /// One window. `asked_from_us`: attempts that end from then on, and only they, were made while nobody
    /// was ready; none where part of the window lies outside of that time, whose sums do not tell.
    pub fn add(&mut self, window: &Window, asked_from_us: Option<i64>) {
        let pool = &window.pool;
        self.requests += pool.requests;
        self.failed += pool.failed;
        self.empty += pool.empty;
        for (code, count) in pool.codes.range(500..600) {
            *self.codes.entry(*code).or_default() += count;
        }
        let Some(from_us) = asked_from_us else { return };
        for (name, routes) in &window.cells {
            if routes.values().any(|cell| cell.last_us.is_some_and(|last| last >= from_us)) {
                self.asked.insert(name.clone());
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.empty += other.empty;
        for (code, count) in &other.codes {
            *self.codes.entry(*code).or_default() += count;
        }
        self.asked.extend(other.asked.iter().cloned());
    }

    /// `of 240 requests 70 found nobody to ask, 68 were answered 503; 2 of 3 instances went on being asked`. `of`:
    /// how many instances there are.
    pub fn words(&self, of: usize) -> String {
        let asked = match self.asked.len() {
            0 => String::new(),
            all if all >= of => "all instances went on being asked".to_owned(),
            1 => format!("1 of {of} instances went on being asked"),
            some => format!("{some} of {of} instances went on being asked"),
        };
        if self.requests == 0 {
            return if asked.is_empty() { "no request was seen".to_owned() } else { asked };
        }
        let asked = if asked.is_empty() { asked } else { format!("; {asked}") };
        let mut parts = Vec::new();
        if self.empty > 0 {
            parts.push(format!("{} found nobody to ask", thousands(self.empty)));
        }
        if let Some((code, count)) = self.codes.iter().max_by_key(|(_, count)| **count) {
            let were = if *count == 1 { "was" } else { "were" };
            parts.push(format!("{} {were} answered {code}", thousands(*count)));
        }
        if parts.is_empty() && self.failed > 0 {
            parts.push(format!("{} failed", thousands(self.failed)));
        }
        if parts.is_empty() {
            parts.push("none failed".to_owned());
        }
        let noun = if self.requests == 1 { "request" } else { "requests" };
        format!("of {} {noun} {}{asked}", thousands(self.requests), parts.join(", "))
    }
}

/// The platform that takes instances out: as it is set, or as the source of the count tells.
pub fn platform_of(settings: &Settings, source: Source) -> Option<&'static Platform> {
    let set = settings.platform.as_deref().and_then(platform::named);
    set.or_else(|| platform::behind(source))
}

/// What the platform does by its documentation, as a sentence; what to do where it is not known.
pub fn documented(platform: Option<&Platform>) -> String {
    match platform {
        Some(platform) => format!("{} {}.", platform.name, platform.all_unhealthy),
        None => {
            "What takes instances out is not known: name the platform, and what it does then is \
                 told here."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cell::Cell, *};

    fn window(requests: u64, empty: u64, codes: &[(u16, u64)], asked: &[&str]) -> Window {
        let mut window = Window::new(0);
        window.pool.requests = requests;
        window.pool.empty = empty;
        window.pool.codes = codes.iter().copied().collect();
        window.pool.failed = window.pool.codes.range(500..).map(|(_, count)| count).sum();
        for name in asked {
            let cell = Cell { attempts: 1, last_us: Some(60), ..Cell::default() };
            window.cells.entry((*name).to_owned()).or_default().insert("GET /".into(), cell);
        }
        window
    }

    fn words(windows: &[Window], from_us: Option<i64>) -> String {
        let mut seen = Seen::default();
        windows.iter().for_each(|window| seen.add(window, from_us));
        seen.words(3)
    }

    #[test]
    fn it_is_told_what_was_seen() {
        assert_eq!(words(&[], Some(0)), "no request was seen");
        let two = [
            window(2_200, 60, &[(503, 60)], &["a"]),
            window(40, 10, &[(502, 2), (503, 8)], &["b"]),
        ];
        let told = "of 2,240 requests 70 found nobody to ask, 68 were answered 503";
        assert_eq!(words(&two, Some(60)), format!("{told}; 2 of 3 instances went on being asked"));
        assert_eq!(words(&two, Some(61)), told, "what was asked before says nothing");
        assert_eq!(words(&two, None), told);
        assert_eq!(
            words(&[window(90, 0, &[(200, 90)], &["a", "b", "c"])], Some(0)),
            "of 90 requests none failed; all instances went on being asked"
        );
        assert_eq!(
            words(&[window(1, 0, &[(502, 1)], &[])], None),
            "of 1 request 1 was answered 502"
        );
    }

    #[test]
    fn it_is_told_what_each_platform_does_then() {
        let set = |kind: &str| Settings { platform: Some(kind.to_owned()), ..Settings::default() };
        let of = |settings: &Settings, source| documented(platform_of(settings, source));
        let none = Settings::default();
        for (source, words) in [
            (Source::Haproxy, "HAProxy does not fail open: answers 503."),
            (Source::Kubernetes, "Kubernetes Service does not fail open: no endpoint is left"),
            (Source::AlbHealth, "AWS Application Load Balancer fails open: routes to all targets"),
            (Source::Envoy, "Envoy ignores health below its panic threshold and uses all hosts"),
            (Source::NginxError, "nginx upstream answers 502 with “no live upstreams”"),
            (Source::Traffic, "What takes instances out is not known"),
            (Source::Probes, "What takes instances out is not known"),
        ] {
            let told = of(&none, source);
            assert!(told.starts_with(words) && told.ends_with('.'), "{source:?}: {told}");
        }
        for (kind, words) in [
            ("nlb", "AWS Network Load Balancer fails open once every target"),
            ("google", "Google Cloud Load Balancing does not fail open: Application"),
            ("azure_lb", "Azure Load Balancer sends no new flows"),
            ("app_gateway", "Azure Application Gateway answers 502"),
        ] {
            // What is set counts more than who tells of states.
            let told = of(&set(kind), Source::Kubernetes);
            assert!(told.starts_with(words), "{kind}: {told}");
        }
        let verbs = ["does not ", "fails open", "ignores ", "answers ", "sends "];
        for platform in platform::PLATFORMS {
            let verb = verbs.iter().any(|verb| platform.all_unhealthy.starts_with(verb));
            assert!(verb, "{} {}", platform.name, platform.all_unhealthy);
        }
    }
}
