-- Reports that are made and sent by themselves: which SLOs, when (a cron expression in the report's own
-- zone), through which channel.
create table report_schedule (
    schedule_id integer generated always as identity primary key,
    uid         uuid not null constraint report_schedule_uid_key unique,
    name        text not null,
    -- Keys of SLOs, in the order of the mails.
    slos        integer[] not null,
    cron        text not null,
    timezone    text not null,
    channel_id  uuid not null references channel,
    -- For whom the reports are; stands at the top of each.
    customer    text not null default '',
    enabled     boolean not null default true,
    -- When it is due next; null while it is switched off.
    next_at     timestamptz,
    revision    integer not null default 1,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    deleted_at  timestamptz
);
create unique index report_schedule_name_key on report_schedule (name) where deleted_at is null;
create index report_schedule_due_idx on report_schedule (next_at) where next_at is not null and deleted_at is null;

-- What was made, once for each schedule, SLO and time, however many coordinators there are. Its delivery is
-- a row of the outbox under monitor 0 with the report's id. The figures are kept as they were.
create table report_sent (
    report_id    uuid primary key,
    schedule_id  integer not null references report_schedule,
    slo_id       integer not null references slo,
    due_at       timestamptz not null,
    window_start timestamptz not null,
    window_end   timestamptz not null,
    -- domain::slo::context::Document: the report and what stood beside it.
    document     jsonb not null,
    sha256       text not null,
    made_at      timestamptz not null,
    constraint report_sent_once unique (schedule_id, slo_id, due_at)
);
create index report_sent_slo_idx on report_sent (slo_id, made_at desc);
create index report_sent_made_idx on report_sent (made_at desc, report_id desc);
