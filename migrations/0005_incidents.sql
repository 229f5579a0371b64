-- One open incident per subject. `monitor_id` 0 is for subjects that are no monitor.
create table incident (
    monitor_id     integer not null,
    incident_id    uuid not null,
    subject        text not null,
    severity       text not null check (severity in ('degraded', 'partial', 'down')),
    peak           text not null check (peak in ('degraded', 'partial', 'down')),
    -- Back-dated to the first fail; `opened_at` is when it was decided.
    started_at     timestamptz not null,
    opened_at      timestamptz not null,
    -- `ended_at` is back-dated to the first pass; `resolved_at` is when it was decided.
    ended_at       timestamptz,
    resolved_at    timestamptz,
    resolve_reason text,
    low            boolean not null default false,
    suppressed     boolean not null default false,
    flapping       boolean not null default false,
    evidence_stale boolean not null default false,
    acked_at       timestamptz,
    acked_by       text,
    -- The sentence of the last opening or move, as it was told.
    sentence       text not null,
    -- Votes and scope at that moment.
    evidence       jsonb not null,
    -- Rises with every event, for the order of notices.
    event_count    integer not null default 0,
    primary key (monitor_id, incident_id)
);
create unique index incident_id_key on incident (incident_id);
create unique index incident_open_key on incident (monitor_id, subject) where resolved_at is null;
create index incident_opened_idx on incident (opened_at);

create table incident_event (
    monitor_id  integer not null,
    incident_id uuid not null,
    event_no    integer not null,
    at          timestamptz not null,
    kind        text not null,
    actor       text,
    sentence    text not null,
    data        jsonb not null default '{}',
    primary key (monitor_id, incident_id, event_no),
    foreign key (monitor_id, incident_id) references incident on delete cascade
);
create index incident_event_at_idx on incident_event using brin (at);
