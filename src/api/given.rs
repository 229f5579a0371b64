//! What people sent, JSON bodies and words of a query, read into our types. Every refusal names its
//! field and says in our words what is wanted; serde's words stay inside.
//!
//! Stricter than serde by itself: no field twice, no list for an object, no null for what has to be
//! there.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
    value::{MapDeserializer, SeqDeserializer},
};
use serde_json::{Number, Value};

use super::error::{ApiError, ApiResult};
use crate::domain::{
    Invalid,
    fields::{kind_of, unknown_field},
    short,
};

/// Reads a body. No JSON is 400; what is refused is 422, and a field that stands there twice is, too.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    let value = value(bytes)?;
    from_value(value).map_err(|invalid| ApiError::Invalid(of_the_body(invalid)))
}

/// A body as a value.
fn value(bytes: &[u8]) -> ApiResult<Value> {
    let malformed = |error| ApiError::Malformed(format!("The body is not valid JSON: {error}."));
    let mut json = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize::<_, OnlyOnce>(&mut json).map_err(|error| {
        let path = path_of(error.path());
        match error.inner().classify() {
            serde_json::error::Category::Data => ApiError::invalid(path, TWICE),
            _ => malformed(error.into_inner()),
        }
    })?;
    json.end().map_err(malformed)?;
    serde_json::from_slice(bytes).map_err(malformed)
}

/// Reads a value. Fields are named as seen from it.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Invalid> {
    read(Given(value))
}

/// Reads the pairs of a query.
pub fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Invalid> {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let mut names = HashSet::new();
    for (name, value) in pairs {
        if value.contains('\0') {
            return Err(Invalid::new(name, NUL));
        }
        if !names.insert(name.clone()) {
            return Err(Invalid::new(name, TWICE));
        }
    }
    read(MapDeserializer::new(pairs.map(|(name, value)| (name, Word(value)))))
}

/// Why a NUL is refused.
pub const NUL: &str = "holds the NUL character (\\u0000), which cannot be stored";
const TWICE: &str = "stands there twice; give it once";

fn read<'de, T: DeserializeOwned>(
    from: impl Deserializer<'de, Error = Refused>,
) -> Result<T, Invalid> {
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path = path_of(error.path());
        error.into_inner().at(path)
    })
}

fn path_of(path: &serde_path_to_error::Path) -> String {
    let path = path.to_string();
    // A key that is refused has no path of its own.
    let path = path.trim_end_matches(".?");
    if path == "." { String::new() } else { path.to_owned() }
}

/// A refusal without a field is one of the whole body.
fn of_the_body(invalid: Invalid) -> Invalid {
    if invalid.field.is_empty() {
        return Invalid::new("", format!("The body {}.", invalid.message));
    }
    invalid
}

/// Why a value was refused. The field is where the reading stood, or `name` in it.
#[derive(Debug)]
struct Refused {
    name: Option<String>,
    message: String,
}

impl Refused {
    fn wants(what: impl fmt::Display, given: &Value) -> Self {
        Self { name: None, message: format!("must be {what}, not {}", kind_of(given)) }
    }

    fn at(self, path: String) -> Invalid {
        let field = match self.name {
            None => path,
            // An unknown field has been stepped into, a missing one has not.
            Some(name) if path == name || path.ends_with(&format!(".{name}")) => path,
            Some(name) if path.is_empty() => name,
            Some(name) => format!("{path}.{name}"),
        };
        Invalid::new(field.trim_end_matches('.'), self.message)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    /// A sentence of a type of ours, or the words of a type that is not ours.
    fn custom<T: fmt::Display>(text: T) -> Self {
        let text = text.to_string();
        let message = if text.starts_with("UUID parsing failed") {
            "must be an id such as 01900000-0000-7000-8000-000000000000".to_owned()
        } else {
            text
        };
        Self { name: None, message }
    }

    fn invalid_type(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self { name: None, message: format!("must be {wanted}") }
    }

    fn invalid_value(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self { name: None, message: format!("must be {wanted}") }
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> Self {
        let message = format!("must be {}, not {:?}", one_of(known), short(given));
        Self { name: None, message }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let message = unknown_field(name, known).message;
        Self { name: Some(name.to_owned()), message }
    }

    fn missing_field(name: &'static str) -> Self {
        Self { name: Some(name.to_owned()), message: "is missing".to_owned() }
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self { name: Some(name.to_owned()), message: TWICE.to_owned() }
    }
}

fn one_of(known: &[&str]) -> String {
    match known {
        [only] => (*only).to_owned(),
        known => format!("one of {}", known.join(", ")),
    }
}

/// A JSON value that becomes what the field wants.
struct Given(Value);

impl<'de> IntoDeserializer<'de, Refused> for Given {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// A whole number between the bounds of its type.
fn whole<T: fmt::Display>(given: &Value, read: Option<T>, low: T, high: T) -> Result<T, Refused> {
    read.ok_or_else(|| match given {
        Value::Number(_) => {
            Refused::custom(format_args!("must be a whole number from {low} to {high}"))
        }
        other => Refused::wants("a whole number", other),
    })
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $kind:ty, $read:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            let number = self.0.as_number().and_then(Number::$read);
            let number = number.and_then(|number| <$kind>::try_from(number).ok());
            visitor.$visit(whole(&self.0, number, <$kind>::MIN, <$kind>::MAX)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Given {
    type Error = Refused;

    whole_numbers! {
        deserialize_u8 visit_u8 u8, as_u64;
        deserialize_u16 visit_u16 u16, as_u64;
        deserialize_u32 visit_u32 u32, as_u64;
        deserialize_u64 visit_u64 u64, as_u64;
        deserialize_i8 visit_i8 i8, as_i64;
        deserialize_i16 visit_i16 i16, as_i64;
        deserialize_i32 visit_i32 i32, as_i64;
        deserialize_i64 visit_i64 i64, as_i64;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match &self.0 {
            Value::Number(number) => match number.as_f64() {
                Some(number) => visitor.visit_f64(number),
                None => Err(Refused::custom("is too large a number")),
            },
            other => Err(Refused::wants("a number", other)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Bool(yes) => visitor.visit_bool(yes),
            other => Err(Refused::wants("true or false", &other)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            other => Err(Refused::wants("text", &other)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Given)))
            }
            other => Err(Refused::wants("a list", &other)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Object(fields) => visitor.visit_map(MapDeserializer::new(
                fields.into_iter().map(|(name, value)| (name, Given(value))),
            )),
            other => Err(Refused::wants("an object", &other)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self.0 {
            Value::String(word) => IntoDeserializer::<Refused>::into_deserializer(word.as_str())
                .deserialize_enum(name, variants, visitor),
            other => Err(Refused::wants(one_of(variants), &other)),
        }
    }

    /// For fields that are values themselves, and are read by hand.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.0.deserialize_any(visitor).map_err(Refused::custom)
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// One value of a query, which is text and becomes what the field wants.
struct Word<'a>(Cow<'a, str>);

macro_rules! parse_words {
    ($($method:ident $visit:ident $kind:ty, $what:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            match self.0.parse::<$kind>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Refused::custom(format_args!("must be {}, not {:?}", $what, short(&self.0)))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Word<'de> {
    type Error = Refused;

    parse_words! {
        deserialize_bool visit_bool bool, "true or false";
        deserialize_u16 visit_u16 u16, "a whole number";
        deserialize_u32 visit_u32 u32, "a whole number";
        deserialize_u64 visit_u64 u64, "a whole number";
        deserialize_i32 visit_i32 i32, "a whole number";
        deserialize_i64 visit_i64 i64, "a whole number";
        deserialize_f64 visit_f64 f64, "a number";
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        IntoDeserializer::<Refused>::into_deserializer(self.0.as_ref())
            .deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Refused> for Word<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads anything, keeps nothing, and refuses an object that holds a name twice.
struct OnlyOnce;

impl<'de> Deserialize<'de> for OnlyOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OnlyOnceVisitor)
    }
}

struct OnlyOnceVisitor;

impl<'de> Visitor<'de> for OnlyOnceVisitor {
    type Value = OnlyOnce;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_i64<E>(self, _: i64) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_u64<E>(self, _: u64) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_f64<E>(self, _: f64) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_str<E>(self, _: &str) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_unit<E>(self) -> Result<OnlyOnce, E> {
        Ok(OnlyOnce)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OnlyOnce, A::Error> {
        while items.next_element::<OnlyOnce>()?.is_some() {}
        Ok(OnlyOnce)
    }
    /// Numbers come here too: they keep their digits as an object of one field.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<OnlyOnce, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if names.contains(&name) {
                return fields.next_value_seed(Twice).map(|()| OnlyOnce);
            }
            fields.next_value::<OnlyOnce>()?;
            names.insert(name);
        }
        Ok(OnlyOnce)
    }
}

/// Refuses where the second value stands, so that the path ends in its name.
struct Twice;

impl<'de> de::DeserializeSeed<'de> for Twice {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        Err(D::Error::custom(TWICE))
    }
}

#[cfg(test)]
#[path = "given_tests.rs"]
mod tests;
