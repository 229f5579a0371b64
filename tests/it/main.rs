//! Everything that needs more than one part: real Postgres, real sockets. One binary, a file per subject.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop where it stands"
)]

mod accesslog_any;
mod accesslog_servers;
mod agent_link;
mod api_agents;
mod api_input;
mod api_monitors;
mod api_openapi;
mod api_people;
mod api_rest;
mod api_roles;
mod bed;
mod callbacks;
mod certificates;
mod database;
mod deadman;
mod decide;
mod decide_oracle;
mod depends_on;
mod drill;
mod end_to_end;
mod escalations;
mod failover;
mod fallback;
mod fleet_alerts;
mod fleet_golden;
mod fleet_intake;
mod fleet_kill;
mod fleet_known;
mod fleet_lab;
mod fleet_maintenance;
mod fleet_outage;
mod fleet_settings;
mod fleet_sources;
mod fleet_stream;
mod heartbeats;
mod layering;
mod location_health;
mod location_trust;
mod logs_cli;
mod maintenance_plans;
mod metrics;
mod notify_channels;
mod notify_mail;
mod notify_outbox;
mod notify_webhook;
mod platform;
mod private_postgres;
mod probe_cli;
mod probe_dns;
mod probe_dns_kind;
mod probe_grpc;
mod probe_hostile;
mod probe_http;
mod probe_icmp;
mod probe_smtp;
mod probe_tcp;
mod probe_tls;
mod probe_tls_kind;
mod probe_websocket;
mod publish;
mod races;
mod replay;
mod retention;
mod same_numbers;
mod ship;
mod slo_alerts;
mod slo_api;
mod slo_brute;
mod slo_documents;
mod slo_eval;
mod slo_exchange;
mod slo_requests;
mod status_pages;
mod status_public;
mod storm_acks;
mod storms;
mod support;
mod triage;
mod turmoil;
mod up;
