-- What is watched. Deleting keeps the row (its history is audited) and frees the name.
create table monitor (
    monitor_id    integer generated always as identity primary key,
    uid           uuid not null constraint monitor_uid_key unique,
    name          text not null,
    group_name    text not null default '',
    -- The check without its inline secrets; those are in `sealed`, encrypted.
    check_spec    jsonb not null,
    sealed        bytea,
    interval_s    integer not null,
    timeout_ms    integer not null,
    slow_ms       integer,
    locations     jsonb not null,
    policy        jsonb not null,
    labels        jsonb not null default '{}',
    -- Null: the default channels. Otherwise a list of channel ids.
    channels      jsonb,
    depends_on    jsonb not null default '[]',
    fleet         text,
    escalation    text,
    runbook_url   text,
    enabled       boolean not null default true,
    -- Rises only when check, time-out or interval change; votes on an older one fade out.
    check_version integer not null default 1,
    -- Rises with every edit; answered as ETag.
    revision      integer not null default 1,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    deleted_at    timestamptz
);
create unique index monitor_name_key on monitor (name) where deleted_at is null;

-- The configured locations in their order: position and count give each its turn in the interval.
create table monitor_location (
    monitor_id  integer not null references monitor on delete cascade,
    location_id smallint not null references location,
    position    smallint not null,
    primary key (monitor_id, location_id)
);
create index monitor_location_location_idx on monitor_location (location_id);

-- State, timers and all votes of a monitor in one row: one update per monitor and batch. This row is
-- the monitor's lock (`for no key update`, in id order), for reports, edits, pause, delete and sweep
-- alike. `state`, `since_at` and `config_rev` are copies for lists and caches; `live` is the truth.
-- The free space keeps updates on the same page; `wake_at` does not change on a steady pass, so that
-- no index is touched then.
create table monitor_live (
    monitor_id integer primary key references monitor on delete cascade,
    live       text not null,
    state      smallint not null,
    since_at   timestamptz not null,
    -- Rises whenever policy, locations or check change.
    config_rev integer not null default 1,
    wake_at    timestamptz
) with (fillfactor = 50);
create index monitor_live_wake_idx on monitor_live (wake_at, monitor_id) where wake_at is not null;
