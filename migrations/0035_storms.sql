-- Incidents of monitors that went down, with what the monitor may share with others; those that went down
-- together and share something are one group, and one alert (decision rule 5.9). `group_id` is the incident of
-- the first of them. Read and written under one advisory lock, which is taken after all row locks, so nothing
-- here is ever waited for. The notices of a group stay under their own incidents; those that are told with it
-- have the outcome `grouped`.
create table storm_member (
    incident_id uuid primary key,
    monitor_id  integer not null,
    -- The order of those that went down at the same instant.
    member_no   bigint not null generated always as identity,
    -- When it went down; again when it does so again.
    down_at     timestamptz not null,
    -- Null while it is down, or at least not up.
    over_at     timestamptz,
    -- From `domain::storm::keys`: `domain:shop.example`, `net:203.0.113.0/24` …
    keys        text[] not null,
    group_id    uuid,
    -- The key that the group shares.
    shared      text,
    constraint storm_member_group_check check ((group_id is null) = (shared is null))
);
create index storm_member_down_idx on storm_member (down_at);
create index storm_member_group_idx on storm_member (group_id, down_at) where group_id is not null;
-- What waits for a parent to come up.
create index notice_held_idx on notice (monitor_id, incident_id) where held_for is not null;
