//! Everything on one machine: a private Postgres, one coordinator and three agents.

pub mod postgres;
