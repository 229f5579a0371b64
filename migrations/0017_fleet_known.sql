-- What a source told is known for as long as the source is heard.

-- Since when a source has been heard without a silence that is longer than usual for it, by the stamps of
-- what it sent. Null: since always.
alter table fleet_source add column hears_from timestamptz;
-- Who sent this share of a window's sums; null once it is part of the sum.
alter table fleet_cell add column source text;

-- Instances beside those that are ready of which nobody tells any more; and the count by zone, where
-- instances have one: [{zone, ready, unknown, instances}], the zone null for those without.
alter table fleet_ready add column unknown integer not null default 0;
alter table fleet_ready add column zones jsonb;
alter table fleet_live add column unknown integer not null default 0;
alter table fleet_live add column zones jsonb;
