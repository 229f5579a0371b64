//! Names as they may stand in an address.

/// A name after RFC 1123: lower-case letters, digits and hyphens, at most 63. None when nothing of it is left.
pub fn slug(name: &str) -> Option<String> {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(63);
    let out = out.trim_end_matches('-');
    (!out.is_empty()).then(|| out.to_owned())
}

/// Whether a name is one of these.
pub fn is_slug(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.len() <= 63
        && name.chars().all(inner)
        && edge(name.chars().next())
        && edge(name.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_what_an_address_allows() {
        assert_eq!(slug("Checkout – Zahlung (EU)").unwrap(), "checkout-zahlung-eu");
        assert_eq!(slug("Ölpreis").unwrap(), "lpreis");
        assert_eq!(slug("…"), None);
        assert_eq!(slug(&"a-".repeat(60)).unwrap().len(), 63);
        assert!(is_slug("a") && is_slug("a-1") && !is_slug("-a") && !is_slug("A") && !is_slug(""));
        for name in ["Checkout – Zahlung (EU)", "__x__", &"ä b".repeat(50)] {
            assert!(is_slug(&slug(name).unwrap()), "{name}");
        }
    }
}
