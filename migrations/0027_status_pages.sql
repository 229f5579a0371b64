-- Pages on which the public sees how things are, without a login (spec: slo 5.4). States come from the
-- timeline that reports read; words come from people, in posts. Nothing is posted by itself.

create table status_page (
    page_id    integer generated always as identity primary key,
    uid        uuid not null constraint status_page_uid_key unique,
    -- Stands in the address: /status/SLUG.
    slug       text not null constraint status_page_slug_key unique,
    name       text not null,
    headline   text not null default '',
    -- IANA name; days are those of this zone.
    timezone   text not null default 'UTC',
    -- A host of its own, in lower case. Requests for it get this page and nothing else of the product.
    domain     text constraint status_page_domain_key unique,
    published  boolean not null default false,
    days       smallint not null default 90,
    -- domain::status_page::Group: groups in order, each with parts in order. A part is a monitor or an SLO
    -- under a public name; what is internal about it is never copied here.
    groups     jsonb not null default '[]',
    -- domain::status_page::Link, in order.
    links      jsonb not null default '[]',
    -- Rises with every edit; answered as ETag.
    revision   integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null
);

-- What people tell the public about something that is wrong.
create table status_post (
    post_id     uuid primary key,
    page_id     integer not null references status_page on delete cascade,
    title       text not null,
    impact      text not null constraint status_post_impact_check check (impact in ('none', 'minor', 'major', 'critical')),
    -- Ids of parts of the page; one that was taken off the page is not shown any more.
    parts       uuid[] not null default '{}',
    -- The incident that it is about, for us: no public answer ever names it.
    incident_id uuid,
    started_at  timestamptz not null,
    -- As its latest update says; kept here so that open posts are found by an index.
    status      text not null constraint status_post_status_check
                    check (status in ('investigating', 'identified', 'monitoring', 'resolved')),
    resolved_at timestamptz,
    revision    integer not null default 1,
    created_at  timestamptz not null,
    created_by  text not null,
    updated_at  timestamptz not null
);
create index status_post_page_idx on status_post (page_id, started_at, post_id);
create index status_post_open_idx on status_post (page_id) where resolved_at is null;

create table status_update (
    update_id uuid primary key,
    post_id   uuid not null references status_post on delete cascade,
    status    text not null constraint status_update_status_check
                  check (status in ('investigating', 'identified', 'monitoring', 'resolved')),
    text      text not null,
    at        timestamptz not null,
    -- Who wrote it, for us only.
    by_whom   text not null,
    edited_at timestamptz,
    edited_by text
);
create index status_update_post_idx on status_update (post_id, at, update_id);
