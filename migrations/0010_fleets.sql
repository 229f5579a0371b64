-- Fleets: the instances behind an endpoint, as the logs of whoever stands before them (or their own)
-- show them. Deleting keeps the row (its incidents refer to it) and frees the name.
create table fleet (
    fleet_id   integer generated always as identity primary key,
    uid        uuid not null constraint fleet_uid_key unique,
    name       text not null,
    -- domain::fleet::config::Config: what is expected, the health check, the platform, named
    -- instances, and which findings become incidents.
    settings   jsonb not null,
    -- Rises with every edit; answered as ETag.
    revision   integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz
);
create unique index fleet_name_key on fleet (name) where deleted_at is null;

-- What judging a fleet has come to: one row a fleet, written only under that fleet's advisory lock, so
-- that any number of coordinators take turns. Spread and baselines are no part of it; they are worked
-- out anew from the sums of the last windows.
create table fleet_live (
    fleet_id       integer primary key references fleet on delete cascade,
    -- Beginning of the first window that is not judged yet; null before the first line. What comes for
    -- an earlier window changes its sums and nothing else.
    judged_until   timestamptz,
    -- Evidence up to here has gone into the states of the instances.
    folded_until   timestamptz,
    -- domain::fleet::engine and domain::fleet::timeline, as they save themselves.
    engine         jsonb,
    timeline       jsonb,
    -- Copies for lists and metrics; the timeline is the truth. Null: not known.
    ready          integer,
    ready_low      integer,
    ready_high     integer,
    ready_source   text,
    -- Without any source of readiness: who had traffic of late. Never called ready.
    in_rotation    integer,
    expected       integer,
    expected_from  text check (expected_from in ('set', 'snapshot', 'learned')),
    updated_at     timestamptz not null
);

-- Instances by the name that their sums are kept under: `ip:port`, a socket, a source's name, or the
-- name that somebody gave. What else a log or a platform calls them is in `aliases`; sums and events
-- keep the name they came with, and are put together when they are read, so that an alias that is
-- learnt late mends the past too.
create table fleet_instance (
    fleet_id          integer not null references fleet on delete cascade,
    instance          text not null,
    aliases           text[] not null default '{}',
    zone              text,
    -- Named in the settings of the fleet.
    configured        boolean not null default false,
    -- By the time of the events, not of their arrival.
    first_at          timestamptz,
    last_at           timestamptz,
    state             text not null default 'unknown',
    state_at          timestamptz,
    state_source      text,
    state_reason      text,
    version           text,
    -- Counters that only rise: what /metrics shows.
    restarts_certain  bigint not null default 0,
    restarts_probable bigint not null default 0,
    transitions       bigint not null default 0,
    primary key (fleet_id, instance)
);

-- Keys of those who send logs: good for one fleet's logs and events, and nothing else.
create table shipper_token (
    token_id     uuid primary key,
    fleet_id     integer not null references fleet on delete cascade,
    name         text not null,
    token_hash   bytea not null constraint shipper_token_hash_key unique,
    created_by   text not null,
    created_at   timestamptz not null,
    last_used_at timestamptz,
    revoked_at   timestamptz
);
create unique index shipper_token_name_key on shipper_token (fleet_id, name) where revoked_at is null;
