//! JSONPath (RFC 9535) with limits that keep a query's cost in proportion to the document.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::domain::Invalid;

/// A checked path.
#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    query: JsonPath,
}

impl Path {
    /// Refuses what is not RFC 9535, and queries whose cost could run away on a hostile answer: more
    /// than one `..`, queries of the whole document inside a filter, many unions, and patterns that
    /// come from the document.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refused = |why: String| Invalid::new("path", why);
        if text.len() > 500 {
            return Err(refused("is longer than 500 characters".into()));
        }
        let query = JsonPath::parse(text).map_err(|error| {
            refused(format!(
                "{:?} is not a JSONPath (RFC 9535), such as $.data[0].status: {error}",
                crate::domain::short(text)
            ))
        })?;
        let bare = without_literals(text);
        if bare.matches("..").count() > 1 {
            return Err(refused(
                "holds `..` more than once, which could cost too much on a large answer".into(),
            ));
        }
        if bare.matches('$').count() > 1 {
            return Err(refused("asks for the whole document inside a filter, which could cost too much on a large answer".into()));
        }
        if bare.matches(',').count() > 10 {
            return Err(refused("lists more than 10 alternatives".into()));
        }
        for function in ["match(", "search("] {
            // The text of a literal is gone from `bare`, only its quotes are left.
            for (at, _) in bare.match_indices(function) {
                let rest = bare.get(at + function.len()..).unwrap_or_default();
                let pattern = rest.split_once(',').map_or("", |(_, pattern)| pattern.trim_start());
                if !pattern.starts_with(['"', '\'']) {
                    return Err(refused(
                        "takes a pattern from the answer; write the pattern as text".into(),
                    ));
                }
            }
        }
        Ok(Self { text: text.to_owned(), query })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Everything at this path.
    pub fn find<'a>(&self, document: &'a Value) -> Vec<&'a Value> {
        self.query.query(document).all()
    }
}

/// The path with what stands between quotes taken out.
fn without_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match quote {
            Some(_) if c == '\\' => _ = chars.next(),
            Some(open) if c == open => {
                quote = None;
                out.push(c);
            }
            Some(_) => {}
            None => {
                if c == '"' || c == '\'' {
                    quote = Some(c);
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_are_taken() {
        for text in [
            "$",
            "$.a.b",
            "$['a b'][0]",
            "$..id",
            "$.items[?@.name == 'x..$,'].ok",
            "$[?match(@.a, 'x.*')]",
            "$.a[-1]",
        ] {
            Path::parse(text).unwrap();
        }
    }

    #[test]
    fn other_languages_and_costly_queries_are_refused() {
        for text in [
            "",
            "a.b",
            "$.",
            "$..a..b",
            "$[?count($.a)>1]",
            "$[?match(@.a, @.b)]",
            "$[0,1,2,3,4,5,6,7,8,9,10,11]",
            "$[?search(@.a,@.b)]",
        ] {
            assert_eq!(Path::parse(text).unwrap_err().field, "path", "{text}");
        }
    }
}
