-- What comes of logs. Lines are never stored: a batch becomes sums and events in one transaction with
-- the offset that it ended at, so that a batch which is sent again counts nothing, and one that was
-- lost half-way counts whole.

-- Who sends. `role` says what its lines may be used for: a balancer's are traffic, attempts and
-- removals; an instance's own are restarts, checks and version.
create table fleet_source (
    fleet_id      integer not null references fleet on delete cascade,
    source        text not null,
    role          text not null check (role in ('balancer', 'instance')),
    -- What the lines turned out to be, or were said to be.
    format        text,
    format_set    boolean not null default false,
    -- nginx's log_format as pasted; a mapping of fields for JSON of one's own.
    log_format    text,
    tz            text,
    -- Time of the newest line or event, and when something came last.
    newest_at     timestamptz,
    received_at   timestamptz,
    -- Everything up to here has been sent: a shipper that has reached the end of its file says so.
    heard_until   timestamptz,
    lines         bigint not null default 0,
    accepted      bigint not null default 0,
    rejected      bigint not null default 0,
    duplicates    bigint not null default 0,
    bytes         bigint not null default 0,
    -- At most 20 lines that were not understood, of the last 7 days, addresses and query values masked:
    -- [{at, line, reason}].
    samples       jsonb not null default '[]',
    primary key (fleet_id, source)
);

-- How far a file has been taken, in bytes of its decompressed text. The row is the lock of the file.
-- `file` is an id that the shipper made when it first read the file; without one, delivery is at least
-- once.
create table fleet_file (
    fleet_id    integer not null,
    source      text not null,
    file        text not null,
    next_offset bigint not null,
    received_at timestamptz not null,
    primary key (fleet_id, source, file),
    foreign key (fleet_id, source) references fleet_source on delete cascade
);

-- Sums by window, pool, instance and route class. Sketches cannot be added by SQL, so a batch appends its
-- share (by COPY, a few hundred rows for tens of thousands of lines), readers add, and the judge
-- replaces all shares of a window that it has read by their sum. `stage` tells them apart: a share that
-- lies beside the sum of a judged window came late, and so the window is known as revised, without any
-- lock between the two. Deleted 3 hours after judging, when the quarter hours hold the rest.
create table fleet_cell (
    fleet_id      integer not null,
    at            timestamptz not null,
    -- 0: a batch's share, 1: the sum as judged, 2: a sum that late lines have changed.
    stage         smallint not null,
    pool          text not null,
    instance      text not null,
    route         text not null,
    attempts      bigint not null,
    unknown       bigint not null,
    clients       bigint not null,
    proxies       bigint not null,
    fault_status  bigint not null,
    fault_connect bigint not null,
    fault_timeout bigint not null,
    fault_reset   bigint not null,
    rescued       bigint not null,
    bytes         bigint not null,
    probes_passed bigint not null,
    probes_failed bigint not null,
    -- µs since the Unix epoch of the first and last attempt.
    first_us      bigint,
    last_us       bigint,
    codes         jsonb not null,
    latency       bytea not null,
    sizes         bytea not null
);
create index fleet_cell_at_idx on fleet_cell (fleet_id, at);

-- What happened to requests as their clients saw it, whoever was asked.
create table fleet_pool (
    fleet_id     integer not null,
    at           timestamptz not null,
    stage        smallint not null,
    pool         text not null,
    requests     bigint not null,
    failed       bigint not null,
    empty        bigint not null,
    redispatched bigint not null,
    clients      bigint not null,
    proxies      bigint not null,
    codes        jsonb not null,
    -- What is known to the µs although sums are not: when requests were sent elsewhere after a failure,
    -- and where runs of failures began (domain::fleet::timeline::Marks). Only until it is judged.
    marks        jsonb
);
create index fleet_pool_at_idx on fleet_pool (fleet_id, at);

-- The same per quarter hour without route classes, kept 400 days.
create table fleet_quarter (
    fleet_id      integer not null,
    at            timestamptz not null,
    pool          text not null,
    instance      text not null,
    attempts      bigint not null,
    unknown       bigint not null,
    clients       bigint not null,
    proxies       bigint not null,
    fault_status  bigint not null,
    fault_connect bigint not null,
    fault_timeout bigint not null,
    fault_reset   bigint not null,
    rescued       bigint not null,
    bytes         bigint not null,
    probes_passed bigint not null,
    probes_failed bigint not null,
    first_us      bigint,
    last_us       bigint,
    codes         jsonb not null,
    latency       bytea not null,
    sizes         bytea not null,
    primary key (fleet_id, at, pool, instance)
);
create table fleet_pool_quarter (
    fleet_id     integer not null,
    at           timestamptz not null,
    pool         text not null,
    requests     bigint not null,
    failed       bigint not null,
    empty        bigint not null,
    redispatched bigint not null,
    clients      bigint not null,
    proxies      bigint not null,
    codes        jsonb not null,
    primary key (fleet_id, at, pool)
);

-- What logs and platforms say of instances besides requests (domain::fleet::event::Event), 90 days.
-- `folded`: has gone into the instances' states, or came too late for that.
create table fleet_event (
    fleet_id integer not null,
    event_no bigint generated always as identity,
    at       timestamptz not null,
    source   text not null,
    event    jsonb not null,
    folded   boolean not null default false,
    primary key (fleet_id, event_no)
);
create index fleet_event_at_idx on fleet_event (fleet_id, at);
create index fleet_event_new_idx on fleet_event (fleet_id, at, event_no) where not folded;

-- What a snapshot said last of an instance. A platform that is asked every half minute says mostly the
-- same: only what differs becomes an event. Who was named before and is missing now is gone.
create table fleet_said (
    fleet_id integer not null references fleet on delete cascade,
    source   text not null,
    instance text not null,
    topic    text not null,
    value    jsonb not null,
    primary key (fleet_id, source, instance, topic)
);
