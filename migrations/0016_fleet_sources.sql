-- How long a silent source is waited for, in seconds; null: a minute.
alter table fleet_source add column patience_s integer;
-- Names under which its senders still know it. What they send under such a name is this source's, so that
-- renaming costs no file its place.
alter table fleet_source add column aliases text[] not null default '{}';
-- A deleted source keeps its row for the places of its files: when it sends again, nothing counts twice.
alter table fleet_source add column deleted_at timestamptz;
alter table fleet_file drop constraint fleet_file_fleet_id_source_fkey;
alter table fleet_file add constraint fleet_file_source_fkey
    foreign key (fleet_id, source) references fleet_source on delete cascade on update cascade;
