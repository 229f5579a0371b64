-- Agents hold their stream at one coordinator while decisions fall at another, so that what they must
-- hear goes through these rows, with a notify in the same transaction and a poll as fallback.
-- A revision is taken by updating the head: whoever holds the row commits first, so that commit order
-- is revision order and a reader that saw n has seen all below.
create table assignment_head (
    one boolean primary key default true check (one),
    rev bigint not null
);
insert into assignment_head (rev) values (0);

create table assignment_change (
    rev         bigint primary key,
    at          timestamptz not null,
    -- monitor: settings or locations changed. vote: a location's vote went down or came back.
    -- location: its agents, or whether it is enabled, changed.
    kind        text not null check (kind in ('monitor', 'vote', 'location')),
    monitor_id  integer,
    location_id smallint
);

-- "Probe now": a confirmation wave, a run by hand, or a try of an unsaved check.
create table probe_request (
    request_id   bigint generated always as identity primary key,
    uid          uuid not null constraint probe_request_uid_key unique,
    -- Requests of one click or one wave.
    batch_id     uuid not null,
    location_id  smallint not null,
    monitor_id   integer,
    kind         text not null check (kind in ('confirm', 'manual', 'try')),
    -- The unsaved check with its secrets, encrypted; null for a saved monitor.
    sealed_check bytea,
    timeout_ms   integer,
    requested_by text not null,
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    agent_id     uuid,
    observation  jsonb,
    answered_at  timestamptz
);
-- What nobody has taken yet.
create index probe_request_open_idx on probe_request (location_id, request_id) where agent_id is null;
create index probe_request_batch_idx on probe_request (batch_id);
create index probe_request_expires_idx on probe_request (expires_at);
