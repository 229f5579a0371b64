//! Comparing records of DNS: names do not differ by case or by the dot at their end, addresses not by how
//! they are written. Texts (TXT) are compared as they are.

use std::net::IpAddr;

/// A record, or what it is compared with, in the one form that is compared: words in lower case, names without their
/// last dot, addresses in their shortest form, no quotes, one space between words.
pub(super) fn folded(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let word = word.replace('"', "").to_lowercase();
        if let Ok(ip) = word.parse::<IpAddr>() {
            return ip.to_string();
        }
        match word.strip_suffix('.') {
            Some(bare) if !bare.is_empty() => bare.to_owned(),
            _ => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether `text`, folded, contains `part`. A dot at the end of `part` is the end of a name's label, so `mail.` is in
/// `mail.example.com`, and `example.com.` too, but `mail.` is not in `mailbox.example.com`.
pub(super) fn contains(text: &str, part: &str) -> bool {
    let part = part.to_lowercase();
    let plain = folded(text);
    if plain.contains(&part) {
        return true;
    }
    let is_name = |word: &str| word.contains(|c: char| c.is_alphabetic());
    let dotted = plain
        .split(' ')
        .map(|word| if is_name(word) { format!("{word}.") } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ");
    dotted.contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_quotes_fold() {
        for (text, same) in [
            ("10  Mail.Example.COM.", "10 mail.example.com"),
            ("2001:DB8:0::1", "2001:db8::1"),
            ("0 issue \"LetsEncrypt.org\"", "0 issue letsencrypt.org"),
            (".", "."),
            ("0 .", "0 ."),
        ] {
            assert_eq!(folded(text), same);
        }
    }

    #[test]
    fn parts_keep_to_labels() {
        let text = "10 mail.example.com";
        for part in ["MAIL.", "example.com.", "example.com", "10 mail", ".com."] {
            assert!(contains(text, part), "{part}");
        }
        assert!(!contains("10 mailbox.example.com", "mail.") && !contains(text, "example.co."));
    }
}
