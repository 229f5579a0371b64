-- Incidents about Quorate itself stand under monitor 0 (`platform:CAUSE`, `platform:CAUSE:ID`) and need nothing
-- new but this: one that somebody closed by hand while its cause lasted does not open again before the cause
-- was gone once. A row here is such a cause; it goes when the cause does.
create table platform_closed (
    subject   text primary key,
    closed_at timestamptz not null
);

-- A notice that waits because a parent of its monitor is down: why, in the words that the page shows. Until it
-- is null again, nobody claims the row.
alter table notice add column held_for text;
-- Sent to the fallback channel, because no other channel took it.
alter table notice add column fallback boolean not null default false;
-- `grouped`: told as part of the alert of a group of incidents.
alter table notice drop constraint notice_outcome_check;
alter table notice add constraint notice_outcome_check
    check (outcome in ('delivered', 'failed', 'collapsed', 'dropped', 'grouped'));
-- What may be undelivered, among everything that ever was sent.
create index notice_untaken_idx on notice (created_at) where outcome is distinct from 'delivered';

-- Pings to an external watch, which raises the alarm when they stay away. One row, made by the first ping; the
-- claim of a ping is the change of `pinged_at`, so that several coordinators send one.
create table deadman (
    one        boolean primary key default true check (one),
    -- When a ping was last sent, and what came of it.
    pinged_at  timestamptz,
    answered   boolean,
    answer     text,
    -- When it was last looked whether to ping, and what kept it from being sent; null when nothing did.
    looked_at  timestamptz,
    withheld   text
);
