//! Keys inside the database are small integers, so that the growing tables stay narrow; the outside
//! sees UUID v7 only. The two kinds never mix because each has its own type.

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

/// Key of a fleet inside the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FleetKey(pub i32);

/// Key of an SLO inside the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SloKey(pub i32);
