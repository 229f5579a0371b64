//! The one spelling of a JSON value (RFC 8785), so that a hash of it means something.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// Hash of the canonical spelling, as hexadecimal digits.
pub fn sha256(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value)))
}

/// Names in order, no blanks, numbers as ECMAScript writes them.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&spell(number)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut names: Vec<_> = map.iter().collect();
            names.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, item)) in names.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_text(name, out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

/// Control characters by their short escape or four hexadecimal digits, quote and backslash escaped,
/// everything else as it is.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The shortest digits that read back as the same double: without an exponent from 1e-6 to below 1e21.
fn spell(number: &Number) -> String {
    let text = number.as_str();
    let Some(value) = text.parse::<f64>().ok().filter(|value| value.is_finite()) else {
        return text.to_owned();
    };
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = digits.len() as i32;
    // The value is 0.digits × 10^point.
    let point = exponent + 1;
    let zeros = |n: i32| "0".repeat(n.max(0) as usize);
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, rest) = digits.split_at(point as usize);
        format!("{whole}.{rest}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{exponent:+}")
    };
    if value < 0.0 { format!("-{body}") } else { body }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_spelled_as_ecmascript_does() {
        let cases = [
            ("1.0", "1"),
            ("-0", "0"),
            ("0.5", "0.5"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-1.5e-9", "-1.5e-9"),
            ("123456.789", "123456.789"),
            ("333333333.33333329", "333333333.3333333"),
            ("2674800000", "2674800000"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
        ];
        for (given, expected) in cases {
            let number: Value = serde_json::from_str(given).unwrap();
            assert_eq!(canonical(&number), expected, "{given}");
        }
    }

    #[test]
    fn names_are_in_order_and_texts_escaped_as_little_as_possible() {
        let value = json!({"b": [1, true, null], "a": "\u{1}\t\"\\/é€", "": {}, "\u{10000}": 1, "\u{ffff}": 2});
        let expected = "{\"\":{},\"a\":\"\\u0001\\t\\\"\\\\/é€\",\"b\":[1,true,null],\"\u{10000}\":1,\"\u{ffff}\":2}";
        assert_eq!(canonical(&value), expected);
        assert_eq!(
            sha256(&json!({})),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
