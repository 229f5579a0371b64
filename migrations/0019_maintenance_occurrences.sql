-- What maintenance covered, as it was when it began: figures of the past are made from these rows alone, so
-- that no later edit of a plan explains an outage away. One row a monitor, under monitor 0 for a window
-- that covers all of them. Ending a window early shortens its rows; nothing else changes one.
create table maintenance_occurrence (
    monitor_id       integer not null,
    start_at         timestamptz not null,
    maintenance_id   uuid not null,
    end_at           timestamptz not null,
    name             text not null,
    -- planned: leaves out what came after it was declared. correction: entered afterwards, with a reason;
    -- leaves out all of its span, and is listed apart.
    kind             text not null constraint maintenance_occurrence_kind_check check (kind in ('planned', 'correction')),
    reason           text not null default '',
    exclude_from_slo boolean not null,
    -- Leaves out the results of these locations only. Null: the whole monitor.
    locations        smallint[],
    declared_at      timestamptz not null,
    declared_by      text not null,
    constraint maintenance_occurrence_order_check check (end_at >= start_at),
    primary key (monitor_id, start_at, maintenance_id)
);
create index maintenance_occurrence_of_idx on maintenance_occurrence (maintenance_id);

alter table maintenance add column kind text not null default 'planned'
    constraint maintenance_kind_check check (kind in ('planned', 'correction'));
alter table maintenance add column reason text not null default '';
alter table maintenance add column locations smallint[];
-- Its occurrences are written.
alter table maintenance add column begun boolean not null default false;
create index maintenance_begin_idx on maintenance (start_at) where not begun;
