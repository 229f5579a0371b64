-- Which endpoints of a service to serve now, for DNS servers and balancers that ask us (spec: api 5).
--
-- `config` is `domain::failover::Group`: members, each with its monitor, and the rules. `standing` is what
-- was decided last for each member (`domain::failover::Standing`), so that a member that was out comes back
-- only after its hold, whichever coordinator looks. Rows are few; the feed reads one by its name.
create table failover_group (
    group_id      integer generated always as identity primary key,
    uid           uuid not null constraint failover_group_uid_key unique,
    -- Stands in the address of the feed.
    name          text not null,
    config        jsonb not null,
    standing      jsonb not null default '{}',
    -- SHA-256 of the key with which the feed is read.
    token_hash    bytea not null constraint failover_group_token_key unique,
    -- Webhook channels that are told of changes.
    channels      uuid[] not null default '{}',
    -- Rises with every edit; answered as ETag.
    revision      integer not null default 1,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    deleted_at    timestamptz
);
create unique index failover_group_name_key on failover_group (name) where deleted_at is null;

-- Somebody's word over what monitors say. It ends by itself.
create table failover_override (
    group_id integer not null references failover_group on delete cascade,
    member   text not null,
    serve    boolean not null,
    reason   text not null,
    set_by   text not null,
    set_at   timestamptz not null,
    until_at timestamptz not null,
    constraint failover_override_order_check check (until_at > set_at),
    primary key (group_id, member)
);

-- What was served when: a row whenever the answer changed.
create table failover_change (
    group_id   integer not null,
    change_no  bigint generated always as identity,
    at         timestamptz not null,
    served     text[] not null,
    fail_open  boolean not null,
    sentence   text not null,
    primary key (group_id, change_no)
);
create index failover_change_at_idx on failover_change using brin (at);
