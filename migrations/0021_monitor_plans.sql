-- What was to be probed since when: the runs that an SLO on results expects are those of the settings of that
-- time. A row whenever interval or locations change; pauses are in the timeline.
create table monitor_plan (
    monitor_id integer not null references monitor on delete cascade,
    from_at    timestamptz not null,
    interval_s integer not null,
    locations  smallint[] not null,
    primary key (monitor_id, from_at)
);
-- Monitors that are older than this table are taken to have been as they are.
insert into monitor_plan (monitor_id, from_at, interval_s, locations)
select m.monitor_id, m.created_at, m.interval_s,
       coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                 where l.monitor_id = m.monitor_id), '{}')
from monitor m;
