-- Incidents of fleets stand beside those of monitors, under monitor 0 and with the fleet's id. All that
-- open within a minute are one alert: they share `group_id`, the id of the first of them, under which
-- the notices of the whole group go out.
alter table incident add column fleet_id integer;
alter table incident add column group_id uuid;
create index incident_fleet_idx on incident (fleet_id, opened_at) where fleet_id is not null;
create index incident_group_idx on incident (group_id) where group_id is not null;
