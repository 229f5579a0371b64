-- What judging a fleet found. A finding is evidence; the fleet's rules turn it into an incident.
create table fleet_finding (
    fleet_id    integer not null,
    finding_id  uuid not null constraint fleet_finding_id_key unique,
    -- What a step of judging knows it by while it is open; who is named may change meanwhile.
    key         text not null,
    kind        text not null,
    scope       text not null,
    severity    text not null check (severity in ('info', 'warning', 'critical')),
    pool        text not null,
    instances   text[] not null,
    from_at     timestamptz not null,
    -- Null while it is open.
    to_at       timestamptz,
    -- When it was first found.
    found_at    timestamptz not null,
    -- As long as we know the instance it has been like this: shown, and never pages.
    chronic     boolean not null,
    sentence    text not null,
    evidence    jsonb not null,
    -- The incident that a rule made of it, even when somebody has closed that since.
    incident_id uuid,
    primary key (fleet_id, finding_id)
);
create unique index fleet_finding_open_key on fleet_finding (fleet_id, pool, key) where to_at is null;
create index fleet_finding_from_idx on fleet_finding (fleet_id, from_at);

-- How long it took to take a failing instance out: the history of drills. Kept for ever; they are few.
create table fleet_removal (
    fleet_id       integer not null,
    removal_id     uuid not null,
    instance       text not null,
    -- Null: it was done on purpose, or nothing was seen to fail.
    failed_at      timestamptz,
    removed_at     timestamptz not null,
    -- First good sign and back in rotation; null while it is out.
    good_at        timestamptz,
    returned_at    timestamptz,
    cause          text not null,
    -- The source's own words.
    reason         text,
    source         text not null,
    -- µs from failure to removal, and how far that may be off.
    ttr_us         bigint,
    resolution_us  bigint not null,
    -- Attempts that failed on it in between, and those that no other attempt made good.
    harmed         bigint not null,
    client_visible bigint not null,
    -- What the configured check makes possible at best.
    minimum_us     bigint,
    primary key (fleet_id, removal_id)
);
create unique index fleet_removal_key on fleet_removal (fleet_id, instance, removed_at);

-- The ready count whenever it changed, and the instances' transitions: 400 and 90 days.
create table fleet_ready (
    fleet_id integer not null,
    at       timestamptz not null,
    source   text not null,
    ready    integer,
    low      integer,
    high     integer,
    expected integer,
    primary key (fleet_id, at, source)
);
create table fleet_transition (
    fleet_id      integer not null,
    transition_no bigint generated always as identity,
    at            timestamptz not null,
    instance      text not null,
    state         text not null,
    source        text not null,
    reason        text,
    -- A person or a deployment did it: counts in no flap rate.
    planned       boolean not null default false,
    primary key (fleet_id, transition_no)
);
create index fleet_transition_at_idx on fleet_transition (fleet_id, at);
