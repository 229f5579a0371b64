-- Where we look from. A location has one vote however many agents it has. The small key goes into the
-- growing tables, the uuid is what the outside sees.
create table location (
    location_id smallint generated always as identity primary key,
    uid         uuid not null constraint location_uid_key unique,
    name        text not null,
    region      text not null,
    domain      text not null,
    labels      jsonb not null default '{}',
    enabled     boolean not null default true,
    -- Runs beside the coordinator under a pretended name; the UI says so wherever it votes.
    simulated   boolean not null default false,
    created_at  timestamptz not null,
    deleted_at  timestamptz
);
create unique index location_name_key on location (name) where deleted_at is null;

create table agent (
    agent_id        uuid primary key,
    location_id     smallint not null references location,
    token_hash      bytea not null constraint agent_token_key unique,
    created_at      timestamptz not null,
    revoked_at      timestamptz,
    first_seen_at   timestamptz,
    last_seen_at    timestamptz,
    version         text,
    -- Agent's wall clock minus ours.
    clock_offset_ms integer,
    in_flight       integer,
    spool           integer,
    dropped         bigint not null default 0,
    selfcheck       jsonb
);
create index agent_location_idx on agent (location_id) where revoked_at is null;

-- One row per start of an agent. Its lock is the first in the order, and `last_seq` makes delivery
-- idempotent: what is not above it has been stored already.
create table agent_boot (
    agent_id uuid not null references agent on delete cascade,
    boot     uuid not null,
    last_seq bigint not null,
    -- Sequence numbers that never came (spool overflow).
    gaps     bigint not null default 0,
    last_at  timestamptz not null,
    primary key (agent_id, boot)
);
