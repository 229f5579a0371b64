-- Who may do what. Tokens and links are random 32 bytes, shown once; only their SHA-256 is kept, so a
-- copy of the database opens no door. Passwords are argon2id.
create table app_user (
    user_id       uuid primary key,
    email         text not null,
    name          text not null default '',
    role          text not null constraint app_user_role_check check (role in ('viewer', 'editor', 'admin')),
    password_hash text not null,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    disabled_at   timestamptz
);
create unique index app_user_email_key on app_user (lower(email));

create table session (
    session_id   uuid primary key,
    token_hash   bytea not null constraint session_token_key unique,
    user_id      uuid not null references app_user on delete cascade,
    created_at   timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at   timestamptz not null,
    user_agent   text not null default ''
);
create index session_user_idx on session (user_id);

create table api_token (
    token_id     uuid primary key,
    name         text not null,
    role         text not null constraint api_token_role_check check (role in ('viewer', 'editor', 'admin')),
    token_hash   bytea not null constraint api_token_hash_key unique,
    created_by   text not null,
    created_at   timestamptz not null,
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz
);
create unique index api_token_name_key on api_token (name) where revoked_at is null;

-- First sign-in, invitations and recovery: one row, one use, an end.
create table one_time_link (
    link_id    uuid primary key,
    token_hash bytea not null constraint one_time_link_token_key unique,
    purpose    text not null check (purpose in ('first_admin', 'invite', 'recovery')),
    email      text,
    role       text,
    user_id    uuid references app_user on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at    timestamptz
);

create table audit (
    audit_id bigint generated always as identity primary key,
    at       timestamptz not null,
    actor    text not null,
    action   text not null,
    subject  text not null,
    detail   jsonb not null default '{}'
);
create index audit_at_idx on audit (at);

-- Settings by name; the value's shape belongs to the code that reads it. `sealed` holds what must not
-- be readable in the database (the mail password), encrypted.
create table setting (
    name       text primary key,
    value      jsonb not null,
    sealed     bytea,
    updated_at timestamptz not null
);

-- Values for ${secret:name}, encrypted; sent only to agents whose checks name them.
create table secret (
    secret_id  uuid primary key,
    name       text not null constraint secret_name_key unique,
    sealed     bytea not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
