//! Keys inside the database are small integers, so that the growing tables stay narrow; the outside
//! sees UUID v7 only. The two kinds never mix because each has its own type.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Key of a monitor inside the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonitorKey(pub i32);

/// Key of a location inside the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LocationKey(pub i16);

/// Id of an incident, the same inside and outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IncidentKey(pub uuid::Uuid);

/// An id for the outside, UUID v7, made from the instant and the chance at hand.
pub fn new_uid(now: Timestamp, random: [u8; 10]) -> uuid::Uuid {
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}
