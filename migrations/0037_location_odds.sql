-- How often a first attempt fails, and how often its repeat fails too: what the chance of a false alert is
-- worked out from. Null in quarters that were counted before these columns were there.
alter table rollup_quarter add column first_fails integer;
alter table rollup_quarter add column retried integer;
alter table rollup_quarter add column retried_fail integer;

-- The same by location and day (UTC) over all monitors, without the quarters in which it was the target.
create table location_odds (
    location_id  smallint not null,
    day          date not null,
    -- Scheduled attempts, and those that failed.
    attempts     bigint not null,
    fails        bigint not null,
    -- Failures that were tried again, and whose repeat failed.
    retried      bigint not null,
    retried_fail bigint not null,
    primary key (location_id, day)
);
