-- Certificates: what locations are shown, and who was told that one ends (rules: domain::certificate).
--
-- One row for each address at which a location met a monitor's certificate. Written when what is shown there
-- changes, and else every 20 minutes. `monitor_certificate`, which knew one per location, is written no more.
create table certificate_sight (
    monitor_id    integer not null,
    location_id   smallint not null,
    -- Empty where it is not known.
    address       text not null,
    fingerprint   text not null,
    -- Of the monitor's settings: what others were shown does not concern these.
    check_version integer not null,
    -- Since when this certificate is shown there, and when it was last.
    since_at      timestamptz not null,
    last_at       timestamptz not null,
    -- Earliest end of the path that was used.
    not_after     timestamptz not null,
    valid         boolean not null,
    -- Why it is not valid, a sentence; null when it is.
    problem       text,
    -- `domain::observation::Certificate`
    facts         jsonb not null,
    primary key (monitor_id, location_id, address)
);

insert into certificate_sight
    (monitor_id, location_id, address, fingerprint, check_version, since_at, last_at, not_after, valid, facts)
select c.monitor_id, c.location_id, '', c.fingerprint, m.check_version, c.seen_at, c.seen_at,
       (c.facts ->> 'not_after')::timestamptz, (c.facts ->> 'valid')::boolean, c.facts
from monitor_certificate c join monitor m using (monitor_id)
where m.deleted_at is null;

-- What is kept of a monitor's certificates between two looks. Written under the lock of its live row.
create table certificate_watch (
    monitor_id    integer primary key,
    -- When it is looked at next; null while it is paused.
    look_at       timestamptz,
    -- The settings for which `issuers` were seen.
    check_version integer not null default 0,
    -- Issuers that are no news, and since when locations are shown different ones.
    issuers       text[] not null default '{}',
    differ_since  timestamptz,
    -- The certificate that is followed, and how many days were left of the one before when it was renewed.
    fingerprint   text,
    not_after     timestamptz,
    renewed_days  integer
);
create index certificate_watch_look_idx on certificate_watch (look_at) where look_at is not null;

insert into certificate_watch (monitor_id, look_at) select distinct monitor_id, now() from certificate_sight;

-- A certificate that was told, once and for all locations: the tightest threshold so far. The incident is the last
-- one about it, open or not.
create table certificate_alarm (
    monitor_id  integer not null,
    fingerprint text not null,
    days        integer not null,
    not_after   timestamptz not null,
    -- It was told that only some are shown the renewed one.
    in_part     boolean not null,
    incident_id uuid not null,
    told_at     timestamptz not null,
    primary key (monitor_id, fingerprint)
);

-- Days before the end of its certificate at which people are told; null: as the settings say.
alter table monitor add column certificate_days integer[];

-- What counts as shown now: under the present settings of a monitor that is watched, and seen there within the window
-- before the latest sight of all (`domain::certificate::window`).
create view certificate_shown as
with latest as (
    select s.*, m.interval_s, max(s.last_at) over (partition by s.monitor_id) as latest_at
    from certificate_sight s join monitor m using (monitor_id) join monitor_location l using (monitor_id, location_id)
    where m.deleted_at is null and m.enabled and s.check_version = m.check_version
)
select monitor_id, location_id, address, fingerprint, since_at, last_at, not_after, valid, problem, facts
from latest
where last_at >= latest_at - greatest(interval '90 minutes', make_interval(secs => 2 * interval_s + 1800));
