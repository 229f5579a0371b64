//! Comparing what was there with a literal, without converting either.

use std::borrow::Cow;

use serde_json::Value;

use super::judge::{CUT, Fit, Item, found_or_cut, yes};
use crate::domain::decimal::Decimal;
use crate::domain::fields::kind_of;

/// Equality without conversion: at least one literal must be of the item's type, else the
/// comparison itself is refused.
pub(super) fn equals_one(item: &Item<'_>, values: &[Value], cut: bool) -> Fit {
    let actual: Cow<'_, Value> = match item {
        Item::Text(text) => {
            let equal = values.iter().any(|value| value.as_str() == Some(text));
            let prefix_of_one = values
                .iter()
                .any(|value| value.as_str().is_some_and(|value| value.starts_with(text)));
            return if cut && prefix_of_one {
                Fit::Unknowable(CUT.into())
            } else {
                yes(equal && !cut)
            };
        }
        Item::Number(number, _) => {
            let equal =
                values.iter().any(|value| as_decimal(value).is_some_and(|value| value == *number));
            let reached =
                values.iter().any(|value| as_decimal(value).is_some_and(|value| value >= *number));
            return if cut && reached { Fit::Unknowable(CUT.into()) } else { yes(equal && !cut) };
        }
        Item::Json(value) => Cow::Borrowed(*value),
    };
    let comparable = values
        .iter()
        .any(|value| std::mem::discriminant(value) == std::mem::discriminant(actual.as_ref()));
    if !comparable {
        let wanted = values.first().map_or("this", kind_of);
        return Fit::Unknowable(format!("{} is not {wanted}", kind_of(&actual)));
    }
    yes(values.iter().any(|value| same(value, &actual)))
}

pub(super) fn contains(item: &Item<'_>, part: &Value, cut: bool) -> Fit {
    match (item, part) {
        (Item::Text(text), Value::String(part)) => found_or_cut(text.contains(part.as_str()), cut),
        (Item::Json(Value::String(text)), Value::String(part)) => yes(text.contains(part.as_str())),
        (Item::Json(Value::Array(items)), part) => yes(items.iter().any(|item| same(item, part))),
        (Item::Json(other), _) => {
            Fit::Unknowable(format!("{} does not contain {}", kind_of(other), kind_of(part)))
        }
        (Item::Number(..) | Item::Text(_), part) => {
            Fit::Unknowable(format!("it does not contain {}", kind_of(part)))
        }
    }
}

/// Deep equality in which numbers are their values: `1.0` is `1`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => as_decimal(a) == as_decimal(b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

fn as_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Decimal::of(number),
        _ => None,
    }
}

pub(super) fn number_of(item: &Item<'_>) -> Result<Decimal, &'static str> {
    match item {
        Item::Number(number, _) => Ok(number.clone()),
        Item::Json(value) => as_decimal(value).ok_or_else(|| kind_of(value)),
        Item::Text(_) => Err("text"),
    }
}

pub(super) fn text_of<'a>(item: &'a Item<'_>) -> Result<&'a str, &'static str> {
    match item {
        Item::Text(text) => Ok(text),
        Item::Json(Value::String(text)) => Ok(text),
        Item::Json(other) => Err(kind_of(other)),
        Item::Number(..) => Err("a number"),
    }
}
