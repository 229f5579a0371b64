-- Who is called when (spec: decision 5.9).
--
-- A policy: `rules` is `domain::escalation::Policy`.
create table escalation (
    escalation_id uuid primary key,
    name          text not null,
    rules         jsonb not null,
    -- Rises with every edit; answered as ETag.
    revision      integer not null default 1,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    deleted_at    timestamptz
);
create unique index escalation_name_key on escalation (name) where deleted_at is null;

-- From labels to who is told: the first that fits counts. `rules` is `domain::escalation::route::Rules`.
create table route (
    route_id   uuid primary key,
    name       text not null constraint route_name_key unique,
    position   integer not null,
    rules      jsonb not null,
    revision   integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null
);

-- How an incident is escalated: its copy of the policy, and how far it has come. Of a group of a fleet's
-- incidents there is one, under the group's id.
create table incident_plan (
    monitor_id  integer not null,
    incident_id uuid not null,
    -- `domain::escalation::Policy`, without steps if there is no escalation.
    policy      jsonb not null,
    -- What the policy was called, and which route led to it.
    escalation  text,
    route       text,
    -- Channels that the route names, if there is no escalation; null: the monitor's own, or the default ones.
    channels    uuid[],
    -- `domain::escalation::progress::Progress`
    progress    jsonb not null,
    -- The last notice as it was told, which later ones repeat.
    payload     jsonb not null,
    -- When it is looked at next; null once the incident is over.
    next_at     timestamptz,
    primary key (monitor_id, incident_id)
);
create index incident_plan_next_idx on incident_plan (next_at) where next_at is not null;

-- Until when an acknowledgement holds.
alter table incident add column acked_until timestamptz;

-- Names a step or a reminder within its incident, so that no channel is told of one twice.
alter table notice add column once text;
create unique index notice_once_key on notice (monitor_id, incident_id, channel_id, once) where once is not null;
