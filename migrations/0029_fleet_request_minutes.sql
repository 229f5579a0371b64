-- Requests of a fleet's clients by window, for SLOs on them: what is judged minute by minute has to stay so
-- until the report on it is frozen, or its figures would drift as windows become quarter hours. Two numbers a
-- window, so that 100 days of them are small: enough for windows of a quarter or of 90 days. A quarter hour of
-- which there are windows here is told by them; one of which there are none (older, or folded before this table
-- was there) by fleet_pool_quarter.
create table fleet_request_minute (
    fleet_id integer not null,
    at       timestamptz not null,
    requests bigint not null,
    failed   bigint not null,
    primary key (fleet_id, at)
);

-- Rises when lines came for quarter hours that were summed already: what was frozen of them is worked out again.
create table fleet_revision (
    fleet_id      integer primary key,
    data_revision integer not null,
    changed_at    timestamptz not null
);
