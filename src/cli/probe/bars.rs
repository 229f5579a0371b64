//! The phases as a waterfall: all bars share one axis that ends at the next round number.

use crate::cli::term::{Ink, Term, columns, pad, pad_left, thousands};
use crate::domain::observation::{Class, Observation};

/// Where the bars begin.
const MARGIN: usize = 25;
/// Label and value together, without the gap before the bars.
const HEAD: usize = 23;

/// Bars, axis and scale, one line each.
pub(super) fn draw(term: &Term, seen: &Observation) -> String {
    let phases = &seen.phases_us;
    let rows = [
        ("resolve", phases.resolve),
        ("connect", phases.connect),
        ("tls", phases.tls),
        ("first byte", phases.first_byte),
        ("transfer", phases.transfer),
    ];
    let width = term.width - MARGIN - 4;
    let end = axis_end(u64::from(phases.total));
    let broken =
        rows.iter().rposition(|(_, value)| value.is_some()).filter(|_| gave_up(seen.class));
    let mut out = String::new();
    let mut before = 0u64;
    for (index, (label, value)) in rows.iter().enumerate() {
        let shown = value.map_or_else(|| "–".to_owned(), |us| span(u64::from(us)));
        let head = pad_left(&shown, HEAD - 2 - columns(label));
        out.push_str(&format!("  {}{head}", term.paint(Ink::Dim, label)));
        if let Some(us) = value {
            let (from, to) = (before, before + u64::from(*us));
            let bar = bar(term, from, to, end, width, broken == Some(index));
            if !bar.is_empty() {
                out.push_str("  ");
                out.push_str(&bar);
            }
            before = to;
        }
        out.push('\n');
    }
    let blank = " ".repeat(MARGIN);
    out.push_str(&format!(
        "{blank}{}\n",
        term.paint(Ink::Dim, &format!("├{}┤", "─".repeat(width - 2)))
    ));
    out.push_str(&format!("{blank}{}\n", term.paint(Ink::Dim, &scale(end, width))));
    out
}

/// Whether the last phase did not come to its end. A certificate is judged after the handshake, and a
/// condition after the answer.
fn gave_up(class: Option<Class>) -> bool {
    !matches!(
        class,
        None | Some(
            Class::Status
                | Class::Assertion
                | Class::RedirectLimit
                | Class::RedirectInvalid
                | Class::TlsExpired
                | Class::TlsNotYetValid
                | Class::TlsNameMismatch
                | Class::TlsUntrusted
                | Class::TlsIncompleteChain
        )
    )
}

/// A bar from one instant to another, in eighths of a column; at least one eighth, since it happened.
fn bar(term: &Term, from: u64, to: u64, end: u64, width: usize, hatched: bool) -> String {
    // Rounded to the nearest part of which `width * parts` make the whole axis.
    let at = |instant: u64, parts: u128| {
        let doubled =
            u128::from(instant.min(end)) * width as u128 * parts * 2 / u128::from(end.max(1));
        doubled.div_ceil(2) as usize
    };
    let offset = at(from, 1).min(width - 1);
    let length = at(to, 8).saturating_sub(offset * 8);
    let lead = " ".repeat(offset);
    if hatched {
        return format!("{lead}{}", term.hatch(length.div_ceil(8).max(1)));
    }
    if to == from { String::new() } else { format!("{lead}{}", term.bar(length.max(1))) }
}

/// The next round number, in microseconds: 118 ms is drawn up to 150 ms.
fn axis_end(total: u64) -> u64 {
    let mut step = 1_000u64;
    loop {
        for tenths in [10, 15, 20, 30, 50, 75] {
            if total <= step / 10 * tenths {
                return step / 10 * tenths;
            }
        }
        step *= 10;
    }
}

/// `0 … 150 ms`, on a wide line with the steps between.
fn scale(end: u64, width: usize) -> String {
    let last = span(end);
    let mut line = vec![' '; width];
    let mut put = |at: usize, text: &str| {
        for (slot, c) in line.iter_mut().skip(at).zip(text.chars()) {
            *slot = c;
        }
    };
    put(0, "0");
    put(width - columns(&last), &last);
    if width > 70 {
        let parts = steps(end);
        for part in 1..parts {
            let text = span(end * part / parts);
            let centre = (width as u64 * part / parts) as usize;
            put(centre.saturating_sub(columns(&text) / 2), &text);
        }
    }
    line.into_iter().collect()
}

/// Into how many equal parts an axis falls so that each is a round number.
fn steps(end: u64) -> u64 {
    let mut lead = end;
    while lead.is_multiple_of(10) && lead > 0 {
        lead /= 10;
    }
    match lead {
        15 | 3 | 75 => 3,
        2 => 2,
        _ => 5,
    }
}

/// `0.4 ms`, `118 ms`, `9,938 ms`, `10 s`.
pub(super) fn span(us: u64) -> String {
    match us {
        0 => "0 ms".to_owned(),
        1..1_000 => match (us + 50) / 100 {
            0 => "0.1 ms".to_owned(),
            10 => "1 ms".to_owned(),
            tenths => format!("0.{tenths} ms"),
        },
        _ if us >= 1_000_000 && us.is_multiple_of(500_000) => {
            let tenths = us / 100_000;
            if tenths.is_multiple_of(10) {
                format!("{} s", thousands(tenths / 10))
            } else {
                format!("{}.{} s", tenths / 10, tenths % 10)
            }
        }
        1_000..10_000 if !us.is_multiple_of(1_000) && us % 1_000 == 500 => {
            format!("{}.5 ms", us / 1_000)
        }
        _ => format!("{} ms", thousands((us + 500) / 1_000)),
    }
}

/// The label column of facts.
pub(super) fn label(term: &Term, text: &str, width: usize) -> String {
    let blank = width.saturating_sub(columns(text));
    format!("{}{}", term.paint(Ink::Dim, text), pad("", blank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (total, end) in [
            (0, 1_000),
            (118_000, 150_000),
            (150_000, 150_000),
            (151_000, 200_000),
            (10_000_000, 10_000_000),
            (10_000_001, 15_000_000),
        ] {
            assert_eq!(axis_end(total), end);
        }
        assert_eq!(
            scale(150_000, 91).split_whitespace().collect::<Vec<_>>(),
            ["0", "50", "ms", "100", "ms", "150", "ms"]
        );
    }

    #[test]
    fn spans_have_units_and_thousands() {
        for (us, text) in [
            (0, "0 ms"),
            (20, "0.1 ms"),
            (430, "0.4 ms"),
            (980, "1 ms"),
            (1_499, "1 ms"),
            (118_400, "118 ms"),
            (9_938_000, "9,938 ms"),
            (10_000_000, "10 s"),
            (1_500_000, "1.5 s"),
        ] {
            assert_eq!(span(us), text);
        }
    }
}
