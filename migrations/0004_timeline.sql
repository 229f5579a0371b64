-- The one truth that incidents, availability and the status page read. Intervals are half-open,
-- back-dated to the first failing and the first passing result, and end open (`to_at` null) at the
-- present one.
create table monitor_state (
    monitor_id     integer not null,
    from_at        timestamptz not null,
    to_at          timestamptz,
    state          smallint not null,
    -- Down or partial whose votes went stale: shown as such, and unknown in every figure.
    evidence_stale boolean not null default false,
    low            boolean not null default false,
    -- Written by refolding late reports; no incident goes with it.
    found_late     boolean not null default false,
    incident_id    uuid,
    constraint monitor_state_order_check check (to_at is null or to_at >= from_at),
    primary key (monitor_id, from_at)
);
create unique index monitor_state_open_key on monitor_state (monitor_id) where to_at is null;

-- Live rows as they were when an unknown stretch began (a monitor's own, or one in which no coordinator
-- swept): where a refold of late reports starts. Kept two days.
create table monitor_checkpoint (
    monitor_id integer not null,
    at         timestamptz not null,
    live       text not null,
    primary key (monitor_id, at)
);

-- Rises when a refold changed a monitor's past.
create table monitor_revision (
    monitor_id    integer primary key,
    data_revision integer not null,
    changed_at    timestamptz not null
);

-- Every decision at which a vote changed: the transition, or that it was decided to stay, and why;
-- with the inputs, so that it can be replayed.
create table decision (
    monitor_id  integer not null,
    at          timestamptz not null,
    decision_id bigint generated always as identity,
    rule        text not null,
    state       smallint not null,
    changed     boolean not null,
    sentence    text not null,
    inputs      jsonb not null,
    primary key (monitor_id, at, decision_id)
);
create index decision_at_idx on decision using brin (at);

-- When no coordinator swept, nothing can be known: such stretches are unknown for every monitor.
create table not_running (
    from_at timestamptz primary key,
    to_at   timestamptz not null
);

-- The sweep's own memory: when it last ran, and until when deadlines are lenient after a gap.
create table sweep (
    one         boolean primary key default true check (one),
    sweep_at    timestamptz not null,
    grace_until timestamptz,
    -- When that leniency was granted: not again within ten minutes.
    grace_set_at timestamptz
);

-- Which coordinators there are; each says every few seconds that it is there.
create table coordinator (
    coordinator_id  uuid primary key,
    started_at      timestamptz not null,
    seen_at         timestamptz not null,
    version         text not null,
    -- Its clock minus the database's.
    clock_offset_ms integer not null
);
