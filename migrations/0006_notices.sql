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
    disabled_reason text,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz
);
create unique index channel_name_key on channel (name) where deleted_at is null;

-- The outbox: the only hand-over between deciding and sending. Written in the transaction that decides.
-- `notice_no` gives the order per (incident, channel): a row is claimed only when no earlier one of the
-- same pair is unsettled. `notice_id` is the id the receiver sees, the same on every attempt.
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
    give_up_at   timestamptz not null,
    attempts     integer not null default 0,
    attempted_at timestamptz,
    lease_until  timestamptz,
    lease_owner  uuid,
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
