-- Raw outcomes per quarter hour and per civil day of each report zone in use; maintenance, pause and
-- quarantine apply on reading. Manual runs are not in them. `sketch` is the mergeable histogram of
-- pass latencies (domain::rollup). `thresholds` counts passes at or under each threshold in use, in µs.
create table rollup_quarter (
    monitor_id     integer not null,
    at             timestamptz not null,
    location_id    smallint not null,
    runs           integer not null,
    passes         integer not null,
    fails          integer not null,
    errors         integer not null,
    -- Scheduled runs with their retries, by the outcome of the last attempt.
    events_ok      integer not null,
    events_fail    integer not null,
    events_invalid integer not null,
    sum_us         bigint not null,
    thresholds     jsonb not null default '{}',
    classes        jsonb not null default '{}',
    sketch         bytea not null,
    primary key (monitor_id, at, location_id)
);
create index rollup_quarter_at_idx on rollup_quarter using brin (at);

create table rollup_day (
    monitor_id     integer not null,
    zone           text not null,
    day            date not null,
    location_id    smallint not null,
    runs           integer not null,
    passes         integer not null,
    fails          integer not null,
    errors         integer not null,
    events_ok      integer not null,
    events_fail    integer not null,
    events_invalid integer not null,
    sum_us         bigint not null,
    thresholds     jsonb not null default '{}',
    classes        jsonb not null default '{}',
    sketch         bytea not null,
    primary key (monitor_id, zone, day, location_id)
);

-- Quarter hours that must be counted again because a late report touched them.
create table rollup_due (
    monitor_id integer not null,
    at         timestamptz not null,
    primary key (monitor_id, at)
);

-- Up to where the steady roll-up has come, per chore.
create table rollup_mark (
    name text primary key,
    at   timestamptz not null
);

-- Late reports by monitor: the span that a refold must look at.
create table refold_due (
    monitor_id integer primary key,
    from_at    timestamptz not null,
    to_at      timestamptz not null,
    -- When the last of them came: a refold waits until the agent has delivered everything.
    marked_at  timestamptz not null
);
