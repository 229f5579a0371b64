-- Maintenance that comes again. The plan says when (a cron expression in a zone of its own, a duration in
-- elapsed seconds), whom and what. Each occurrence is a row of `maintenance` of its own: those that have
-- begun, and the next one, which is written ahead: when the plan is saved, and when the one before it
-- begins. So whoever reads windows sees an occurrence from its first instant on, and a change of the plan
-- has only one row to replace; what has begun stays as it was. Changes and the step that begins what is due
-- hold the plan's row.
create table maintenance_plan (
    plan_id          uuid primary key,
    name             text not null,
    reason           text not null default '',
    cron             text not null,
    timezone         text not null,
    duration_s       integer not null,
    -- Nothing begins at this instant or later. Null: no end.
    until_at         timestamptz,
    paused           boolean not null default false,
    -- Beginnings that are left out.
    skipped          timestamptz[] not null default '{}',
    -- Whom it covers, as it was written: see `maintenance`.
    monitors         integer[],
    fleets           integer[],
    groups           text[],
    labels           jsonb,
    locations        smallint[],
    suppress_alerts  boolean not null,
    exclude_from_slo boolean not null,
    pause_probes     boolean not null,
    revision         integer not null default 1,
    created_at       timestamptz not null,
    -- When it was last saved, and by whom: nothing begins before that under what it says now.
    declared_at      timestamptz not null,
    declared_by      text not null,
    -- Skips and pauses among the changes.
    changed_at       timestamptz not null,
    -- No further occurrence will come: its end has passed.
    finished         boolean not null default false,
    deleted_at       timestamptz
);

alter table maintenance add column plan_id uuid references maintenance_plan;
create unique index maintenance_plan_start_key on maintenance (plan_id, start_at);
create unique index maintenance_plan_ahead_key on maintenance (plan_id) where not begun;

-- Groups and labels (all of them) whose monitors it covers, beside those that are named. `monitors` then
-- holds whom that comes to: worked out when it is saved, again while it comes near, and for the last time
-- when it begins. Without groups and labels `monitors` is what is named.
alter table maintenance add column groups text[];
alter table maintenance add column labels jsonb;
alter table maintenance add column named integer[];
alter table maintenance add column revision integer not null default 1;

-- Whom a window covers by what is written in it.
create function maintenance_monitors(monitors integer[], named integer[], groups text[], labels jsonb) returns integer[]
language sql stable as $$
    select case when $3 is null and $4 is null then $1
                else (select coalesce(array_agg(m.monitor_id order by m.monitor_id), '{}') from monitor m
                      where m.deleted_at is null
                        and (m.monitor_id = any($2) or m.group_name = any($3) or m.labels @> $4)) end
$$;
