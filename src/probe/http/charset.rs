//! From bytes to text: byte-order mark, then header, then what the document says of itself, then UTF-8.
//! Bytes that are invalid become one replacement character each, so the rest can still be searched.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far into a document its own declaration may stand.
const PRESCAN: usize = 1_024;

pub(super) fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        let rest = bytes.get(length..).unwrap_or_default();
        return encoding.decode_without_bom_handling(rest).0;
    }
    let encoding = content_type
        .and_then(from_header)
        .or_else(|| may_declare(content_type).then(|| from_document(bytes)).flatten())
        .unwrap_or(UTF_8);
    encoding.decode_without_bom_handling(bytes).0
}

fn from_header(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| Encoding::for_label(value.trim().trim_matches('"').as_bytes()))?
    })
}

/// JSON and plain text have no place for a declaration.
fn may_declare(content_type: Option<&str>) -> bool {
    content_type.is_none_or(|text| {
        let text = text.to_ascii_lowercase();
        text.contains("html") || text.contains("xml")
    })
}

/// `<meta charset=…>`, `<meta … content="…charset=…">` or `<?xml … encoding="…"?>`.
fn from_document(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String =
        bytes.iter().take(PRESCAN).map(|b| char::from(*b).to_ascii_lowercase()).collect();
    let declared = |head: &str, key: &str| {
        let (_, after) = head.split_once(key)?;
        let value =
            after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = value
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)))
            .unwrap_or(value.len());
        Encoding::for_label(value.get(..end)?.as_bytes())
    };
    let found = if let Some(xml) = head.trim_start().strip_prefix("<?xml") {
        declared(xml.split("?>").next().unwrap_or_default(), "encoding")
    } else {
        head.split("<meta")
            .skip(1)
            .find_map(|meta| declared(meta.split('>').next().unwrap_or_default(), "charset"))
    };
    // A document that could be read this far is not in UTF-16, whatever it says.
    found
        .map(|encoding| if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_that_speaks_decides() {
        assert_eq!(decode(b"\xef\xbb\xbf{}", Some("text/html; charset=latin1")), "{}");
        assert_eq!(decode(b"\xff\xfeo\0k\0", None), "ok");
        assert_eq!(decode(b"gr\xfc\xdfe", Some("text/plain; charset=\"ISO-8859-1\"")), "grüße");
        assert_eq!(
            decode(b"<html><meta charset=windows-1252>\x80", Some("text/html")),
            "<html><meta charset=windows-1252>€"
        );
        assert_eq!(
            decode(
                b"<meta http-equiv=content-type content='text/html; charset=iso-8859-2'>\xb1",
                None
            )
            .chars()
            .last(),
            Some('ą')
        );
        assert_eq!(
            decode(b"<?xml version='1.0' encoding='koi8-r'?>\xc1", Some("application/xml"))
                .chars()
                .last(),
            Some('а')
        );
        assert_eq!(decode("grüße".as_bytes(), Some("text/plain")), "grüße");
        assert_eq!(decode("ü".as_bytes(), Some("text/html; charset=nonsense")), "ü");
        assert_eq!(
            decode(b"{\"a\":\"<meta charset=latin1>\xc3\xbc\"}", Some("application/json")),
            "{\"a\":\"<meta charset=latin1>ü\"}"
        );
    }

    #[test]
    fn one_invalid_byte_does_not_hide_the_rest() {
        assert!(decode(b"before \xff after needle", None).contains("after needle"));
    }
}
