-- Service level objectives: how good something has to be, over which window, and how good it was. Figures
-- are always made from the stored timeline, results and requests by domain::slo; nothing here is counted
-- up step by step, so that nothing can drift.

create table slo (
    slo_id      integer generated always as identity primary key,
    uid         uuid not null constraint slo_uid_key unique,
    name        text not null,
    service     text not null default '',
    description text not null default '',
    owner       text not null default '',
    labels      jsonb not null default '{}',
    -- What it is about. A fleet may name a monitor that speaks for its quiet minutes; a composite has
    -- members, in their order.
    subject     text not null constraint slo_subject_check check (subject in ('monitor', 'fleet', 'composite')),
    monitor_id  integer,
    fleet_id    integer,
    members     integer[] not null default '{}',
    -- Target, indicator, window, policies and rules as they were written (domain::slo::document), so that no
    -- digit is lost. What was left out stays out: it follows the usual values.
    definition  jsonb not null,
    -- Rises when the definition or the subject changes; reports name it.
    definition_revision integer not null default 1,
    -- Who hears of its alerts. Null: the default channels. Otherwise a list of channel ids.
    channels    jsonb,
    -- Rises with every edit; answered as ETag.
    revision    integer not null default 1,
    -- When it was last looked whether a window is to be frozen.
    looked_at   timestamptz,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    deleted_at  timestamptz
);
create unique index slo_name_key on slo (name) where deleted_at is null;
create index slo_monitor_idx on slo (monitor_id) where monitor_id is not null and deleted_at is null;

-- Every definition that an SLO has had: a frozen report says by which it was made.
create table slo_definition (
    slo_id     integer not null references slo on delete cascade,
    revision   integer not null,
    definition jsonb not null,
    subject    text not null,
    monitor_id integer,
    fleet_id   integer,
    members    integer[] not null,
    saved_at   timestamptz not null,
    saved_by   text not null,
    primary key (slo_id, revision)
);

-- The latest evaluation of the present window, for lists, gauges and alerts: one row, written anew as the
-- watermark moves, at most twice a minute. A report is never answered from it.
create table slo_evaluation (
    slo_id          integer primary key references slo on delete cascade,
    evaluated_at    timestamptz not null,
    watermark       timestamptz not null,
    window_start    timestamptz not null,
    window_end      timestamptz not null,
    definition_revision integer not null,
    data_revision   bigint not null,
    state           text not null,
    ratio           double precision,
    pct             text,
    met             boolean,
    coverage        double precision,
    -- Milliseconds, or events.
    budget_total    double precision,
    budget_left     bigint,
    consumed_ratio  double precision,
    remaining_ratio double precision,
    burn            jsonb not null,
    alerts          jsonb not null
);
-- The order of the list: least budget left first, what cannot be told last.
create index slo_evaluation_order_idx on slo_evaluation (coalesce(remaining_ratio, 'infinity'), slo_id);
create index slo_evaluation_due_idx on slo_evaluation (evaluated_at);

-- How each burn-rate rule stands between two evaluations.
create table slo_rule_standing (
    slo_id       integer not null references slo on delete cascade,
    rule         text not null,
    firing_since timestamptz,
    frozen       boolean not null default false,
    incident_id  uuid,
    primary key (slo_id, rule)
);

-- Reports on windows of the calendar that are over, as they were 72 hours after their end, and again
-- whenever late data or a correction changed them. No row is ever changed or deleted.
create table slo_report_revision (
    slo_id        integer not null references slo on delete cascade,
    window_start  timestamptz not null,
    window_end    timestamptz not null,
    revision      integer not null,
    report        jsonb not null,
    sha256        text not null,
    definition_revision integer not null,
    data_revision bigint not null,
    -- What differs from the revision before: [{path, before, after}].
    diff          jsonb not null default '[]',
    frozen_at     timestamptz not null,
    primary key (slo_id, window_start, revision)
);
-- Up to which revision of the data a frozen window is known not to have changed, so that it is not worked
-- out again and again.
create table slo_report_checked (
    slo_id        integer not null references slo on delete cascade,
    window_start  timestamptz not null,
    data_revision bigint not null,
    primary key (slo_id, window_start)
);
