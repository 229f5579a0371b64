-- Whether each location is to be believed, as it was found at the last look. In doubt: its references fail,
-- or it disagrees with the majority on most monitors. A location in doubt is quarantined while the cap on
-- how many may be set aside allows it. Every decision reads this; nothing of a monitor is rewritten.
create table location_health (
    location_id       smallint primary key references location,
    looked_at         timestamptz not null,
    doubt_since       timestamptz,
    -- The last look that found something against it.
    doubt_bad_at      timestamptz,
    -- When the last round was counted, and how many in a row had nothing against it.
    doubt_round_at    timestamptz,
    doubt_clean       integer not null default 0,
    doubt_hold_s      integer not null default 0,
    quarantined_since timestamptz,
    -- The doubt before: a repeat within a day is held twice as long.
    last_ended_at     timestamptz,
    last_hold_s       integer not null default 0,
    -- What spoke against it last, as it was then.
    evidence          jsonb not null default '{}',
    -- So many of its monitors began to fail at once that its own line is looked at; fresh self-checks are
    -- asked for until they come.
    review_at         timestamptz,
    -- Its standing changed: monitors beyond this key that are not up have still to be decided anew.
    wake_after        integer
);

-- Stretches in quarantine, kept for ever: results of a location within [from_at, to_at) are left out of its
-- own figures. `from_at` lies a minute before the votes stopped counting.
create table location_quarantine (
    location_id smallint not null references location,
    since_at    timestamptz not null,
    from_at     timestamptz not null,
    to_at       timestamptz,
    reason      text not null,
    evidence    jsonb not null,
    -- Why it ended: clean, over_cap, believed, disabled.
    released    text,
    primary key (location_id, since_at)
);
create unique index location_quarantine_open_key on location_quarantine (location_id) where to_at is null;

-- Believed or distrusted by hand, at most a day at a time. Kept, because figures and decisions rest on it.
create table location_trust (
    trust_id    uuid primary key,
    location_id smallint not null references location,
    kind        text not null check (kind in ('believe', 'distrust')),
    reason      text not null,
    set_by      text not null,
    from_at     timestamptz not null,
    until_at    timestamptz not null,
    -- Ended early, or replaced; null otherwise, also once its time is over.
    ended_at    timestamptz,
    ended_by    text
);
create unique index location_trust_open_key on location_trust (location_id) where ended_at is null;

-- Monitors on which a location says down or suspect while most see it up since. There is a row only as long
-- as that is so, so that a healthy fleet has none, whatever its size.
create table location_dissent (
    monitor_id  integer not null,
    location_id smallint not null,
    since_at    timestamptz not null,
    primary key (monitor_id, location_id)
);
create index location_dissent_location_idx on location_dissent (location_id);

-- Monitors on which a location alone has seen down for a day: its vote is set aside there until it agrees.
create table location_divergent (
    monitor_id  integer not null,
    location_id smallint not null,
    since_at    timestamptz not null,
    to_at       timestamptz,
    primary key (monitor_id, location_id, since_at)
);
create unique index location_divergent_open_key on location_divergent (monitor_id, location_id) where to_at is null;
create index location_divergent_location_idx on location_divergent (location_id) where to_at is null;

-- Since when more locations are in doubt than may be set aside, so that nobody is.
create table location_cap (
    one        boolean primary key default true check (one),
    over_since timestamptz not null,
    doubted    integer not null,
    online     integer not null
);
