-- Raw results, one row each, a partition a day, dropped when their time is over. No unique index and no
-- foreign key: `agent_boot` keeps doubles out, and COPY stays quick. Columns stand by size, so that no
-- byte is lost to alignment. Microseconds; null means that the phase did not happen.
create table report (
    effective_at  timestamptz not null,
    monitor_id    integer not null,
    check_version integer not null,
    resolve_us    integer,
    connect_us    integer,
    tls_us        integer,
    first_byte_us integer,
    transfer_us   integer,
    total_us      integer not null,
    size_bytes    integer,
    location_id   smallint not null,
    -- 0 pass, 1 fail, 2 error
    outcome       smallint not null,
    -- Failure class, 0 for a pass.
    class         smallint not null,
    status        smallint,
    -- 0 scheduled, 1 retry, 2 confirm, 3 manual
    kind          smallint not null,
    -- 0 folded into the vote, 1 freshness only, above: history only, and why.
    disposition   smallint not null
) partition by range (effective_at);
create index report_monitor_idx on report (monitor_id, effective_at);
create index report_time_idx on report using brin (effective_at);

-- What failures looked like: kept apart, so that passes stay narrow.
create table report_detail (
    effective_at timestamptz not null,
    monitor_id   integer not null,
    location_id  smallint not null,
    detail       jsonb not null
) partition by range (effective_at);
create index report_detail_monitor_idx on report_detail (monitor_id, effective_at);

-- The certificate that each location saw last, written when it changes.
create table monitor_certificate (
    monitor_id  integer not null,
    location_id smallint not null,
    seen_at     timestamptz not null,
    fingerprint text not null,
    facts       jsonb not null,
    primary key (monitor_id, location_id)
);
