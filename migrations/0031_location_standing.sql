-- How a location stood at the last look, whoever or whatever made it so: counted, quarantined, distrusted or
-- disabled. When that changes, also by the mere end of what was said by hand, its monitors are decided anew.
alter table location_health add column standing text not null default 'counted';

-- Monitors of which nothing is known, to find which of them are blind without reading all. 5 is unknown. The
-- state does not change on a steady pass, so that no index is touched then.
create index monitor_live_unknown_idx on monitor_live (monitor_id) where state = 5;
