//! Plain data in `jsonb` columns.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(super) fn of(value: &impl Serialize) -> sqlx::Result<Value> {
    serde_json::to_value(value).map_err(|e| sqlx::Error::Encode(Box::new(e)))
}

pub(super) fn read<T: DeserializeOwned>(value: Value) -> sqlx::Result<T> {
    serde_json::from_value(value).map_err(|e| sqlx::Error::Decode(Box::new(e)))
}
