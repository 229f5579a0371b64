-- What /metrics shows beside the live rows and the stored evaluations.

-- What the last answer that a location saw was like, written only when it changes: what results do not
-- keep because it hardly ever differs from one to the next.
create table monitor_answer (
    monitor_id   integer not null references monitor on delete cascade,
    location_id  smallint not null,
    http_version text,
    redirects    smallint not null,
    -- 4 or 6; null when no connection was made.
    ip_protocol  smallint,
    primary key (monitor_id, location_id)
);

-- Counters of a monitor. They advance in one transaction with the instants up to which they have counted,
-- whoever of the coordinators does it, and never go back: what late reports change shows in figures that
-- are made anew, not here. Milliseconds; rounds are cells of the monitor's interval.
create table monitor_counter (
    monitor_id     integer primary key references monitor on delete cascade,
    -- Up to where time, rounds and incidents are counted: never beyond the monitor's watermark.
    told_to        timestamptz not null,
    -- Up to where results are counted: a little earlier, so that what is under way has arrived.
    results_to     timestamptz not null,
    looked_at      timestamptz not null,
    up_ms          bigint not null default 0,
    partial_ms     bigint not null default 0,
    down_ms        bigint not null default 0,
    unknown_ms     bigint not null default 0,
    excluded_ms    bigint not null default 0,
    paused_ms      bigint not null default 0,
    rounds_up      bigint not null default 0,
    rounds_partial bigint not null default 0,
    rounds_down    bigint not null default 0,
    rounds_unknown bigint not null default 0,
    incidents      bigint not null default 0
) with (fillfactor = 50);

-- Counters of a monitor at a location. `buckets` holds how many passes took no longer than each bound of
-- domain::slo::counting and longer than the one before; the last element is those beyond all bounds.
create table location_counter (
    monitor_id  integer not null references monitor on delete cascade,
    location_id smallint not null,
    ok          bigint not null,
    fail        bigint not null,
    invalid     bigint not null,
    missing     bigint not null,
    sum_us      bigint not null,
    buckets     bigint[] not null,
    primary key (monitor_id, location_id)
) with (fillfactor = 50);

-- Incidents of a monitor that began within a span.
create index incident_started_idx on incident (monitor_id, started_at);
