-- Incidents of SLOs stand beside those of monitors, under monitor 0 and with the SLO's key: one for each rule
-- that fires (`slo:UUID:RULE`), and one while no budget is left (`slo:UUID:budget`). What is wrong is in `title`.
alter table incident add column slo_id integer;
create index incident_slo_idx on incident (slo_id, opened_at) where slo_id is not null;
