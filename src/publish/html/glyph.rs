//! Marks and textures of states. Each has a shape or a texture of its own, so that a print without colour
//! says the same.

use maud::{Markup, PreEscaped, html};

/// What time, or a verdict, can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::publish) enum Mark {
    Up,
    Slow,
    Partial,
    Down,
    Unknown,
    Maintenance,
    Paused,
}

impl Mark {
    pub(in crate::publish) fn class(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Slow => "slow",
            Self::Partial => "partial",
            Self::Down => "down",
            Self::Unknown => "unknown",
            Self::Maintenance => "maint",
            Self::Paused => "paused",
        }
    }

    /// What an area of it is filled with.
    pub(in crate::publish) fn fill(self) -> &'static str {
        match self {
            Self::Up => "var(--up)",
            Self::Slow => "var(--slow)",
            Self::Partial => "url(#fp)",
            Self::Down => "var(--down)",
            Self::Unknown => "url(#fu)",
            Self::Maintenance => "url(#fm)",
            Self::Paused => "var(--line)",
        }
    }
}

/// The mark, then what it stands for.
pub(in crate::publish) fn state(mark: Mark, word: &str) -> Markup {
    html! {
        span.state { (glyph(mark)) span class={ "w-" (mark.class()) } { (word) } }
    }
}

pub(in crate::publish) fn glyph(mark: Mark) -> Markup {
    html! {
        svg class={ "g " (mark.class()) } viewBox="0 0 12 12" aria-hidden="true" {
            use href={ "#g-" (mark.class()) } {}
        }
    }
}

/// Once a page: what the others point at.
pub(in crate::publish) fn definitions() -> Markup {
    PreEscaped(DEFINITIONS.to_owned())
}

const DEFINITIONS: &str = concat!(
    r#"<svg class="defs" width="0" height="0" aria-hidden="true"><defs>"#,
    r#"<pattern id="fu" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">"#,
    r#"<rect width="5" height="5" fill="var(--surface)"/><rect width="1.6" height="5" fill="var(--unknown)"/></pattern>"#,
    r#"<pattern id="fm" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" fill="var(--surface)"/>"#,
    r#"<circle cx="1" cy="1" r=".9" fill="var(--maint)"/><circle cx="3" cy="3" r=".9" fill="var(--maint)"/></pattern>"#,
    r#"<pattern id="fp" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" fill="var(--surface)"/>"#,
    r#"<rect width="4" height="2" fill="var(--partial)"/></pattern>"#,
    r##"<symbol id="g-up" viewBox="0 0 12 12"><circle cx="6" cy="6" r="4.6" fill="currentColor"/></symbol>"##,
    r##"<symbol id="g-slow" viewBox="0 0 12 12"><path d="M6 .8 11.6 11H.4Z" fill="currentColor"/></symbol>"##,
    r##"<symbol id="g-partial" viewBox="0 0 12 12"><rect x="1.2" y="1.2" width="9.6" height="9.6" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M1 1h5v10H1z" fill="currentColor"/></symbol>"##,
    r##"<symbol id="g-down" viewBox="0 0 12 12"><rect width="12" height="12" rx="1" fill="currentColor"/><path d="m3.3 3.3 5.4 5.4m0-5.4L3.3 8.7" stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round"/></symbol>"##,
    r##"<symbol id="g-unknown" viewBox="0 0 12 12"><circle cx="6" cy="6" r="5" fill="url(#fu)" stroke="currentColor" stroke-width="1.4" stroke-dasharray="2.6 1.6"/></symbol>"##,
    r##"<symbol id="g-maint" viewBox="0 0 12 12"><path d="M6 .3 11.7 6 6 11.7.3 6Z" fill="none" stroke="currentColor" stroke-width="1.5"/><circle cx="6" cy="6" r="1.7" fill="currentColor"/></symbol>"##,
    r##"<symbol id="g-paused" viewBox="0 0 12 12"><path d="M2.2 1h2.6v10H2.2zM7.2 1h2.6v10H7.2z" fill="currentColor"/></symbol>"##,
    "</defs></svg>"
);
