create table channel (
    channel_id      uuid primary key,
    name            text not null,
    kind            text not null,
    config          jsonb not null,
    -- Signing key, password or token, encrypted.
    sealed          bytea,
    is_default      boolean not null default true,
    min_severity    text not null check (min_severity in ('degraded', 'partial', 'down')),
    enabled         boolean not null default true,
    -- Why it was switched off by itself (the receiver said that it is gone for good).
    disabled_reason text,
    -- How the last attempt went, tests included: what the list of channels shows.
    last_attempt_at timestamptz,
    last_success_at timestamptz,
    last_answer     text,
    -- Since when every attempt failed; null while it works.
    failing_since   timestamptz,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz
);
create unique index channel_name_key on channel (name) where deleted_at is null;

-- The outbox: the only hand-over between deciding and sending. Written in the transaction that decides.
-- `notice_no` gives the order per (incident, channel): a row is claimed only when no earlier one of the
-- same pair is unsettled. `notice_id` is the id the receiver sees, the same on every attempt. A claim
-- is a lease under a fresh `lease_owner`; only that owner may settle, so that a worker that came late
-- cannot overwrite what another attempt found out.
create table notice (
    monitor_id   integer not null,
    notice_no    bigint generated always as identity,
    notice_id    uuid not null,
    incident_id  uuid not null,
    channel_id   uuid not null references channel,
    kind         text not null,
    severity     text not null,
    -- Everything that rendering needs, as it was when decided.
    payload      jsonb not null,
    created_at   timestamptz not null,
    due_at       timestamptz not null,
    attempts     integer not null default 0,
    attempted_at timestamptz,
    lease_until  timestamptz,
    lease_owner  uuid,
    -- Recipients within the channel (mail addresses) that have it already, so that a repeat for the
    -- others does not reach them twice.
    reached      text[] not null default '{}',
    settled_at   timestamptz,
    outcome      text check (outcome in ('delivered', 'failed', 'collapsed', 'dropped')),
    -- What the other side said last.
    answer       text,
    primary key (monitor_id, notice_no)
);
create unique index notice_id_key on notice (notice_id);
create index notice_due_idx on notice (due_at) where settled_at is null;
create index notice_pair_idx on notice (incident_id, channel_id, notice_no);
create index notice_channel_idx on notice (channel_id, created_at);
-- What is being sent right now, for each channel's share of the workers.
create index notice_lease_idx on notice (lease_until, channel_id) where lease_until is not null;

-- Windows declared beforehand (decision rule 5.8). `monitors` null covers all.
create table maintenance (
    maintenance_id   uuid primary key,
    name             text not null,
    start_at         timestamptz not null,
    end_at           timestamptz not null,
    monitors         integer[],
    suppress_alerts  boolean not null default true,
    exclude_from_slo boolean not null default true,
    pause_probes     boolean not null default false,
    declared_at      timestamptz not null,
    declared_by      text not null,
    constraint maintenance_order_check check (end_at > start_at)
);
create index maintenance_end_idx on maintenance (end_at);
