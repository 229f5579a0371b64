-- Jobs that call us. A monitor of the kind heartbeat has an address of its own, known by the hash of its key; the
-- sealed key is for showing the address again. Rows go with their monitor, because a key must open nothing then.
create table heartbeat (
    monitor_id integer primary key references monitor on delete cascade,
    token_hash bytea not null constraint heartbeat_token_key unique,
    sealed     bytea not null,
    rotated_at timestamptz not null
);

-- Every call, kept as long as raw results, a partition a day. What is decided rests on the live row alone.
create table heartbeat_call (
    called_at   timestamptz not null,
    duration_ms bigint,
    monitor_id  integer not null,
    -- 0 success, 1 start, 2 fail
    kind        smallint not null,
    exit_code   smallint,
    -- False while the monitor is paused: kept, and nothing else.
    counted     boolean not null,
    source      text not null,
    agent       text,
    -- What a failing job wrote, at most 4 KiB, without known secrets.
    evidence    text
) partition by range (called_at);
create index heartbeat_call_monitor_idx on heartbeat_call (monitor_id, called_at);
