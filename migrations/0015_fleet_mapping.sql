-- What the keys of a source's JSON lines mean, for lines of one's own: our fields by the user's keys,
-- `{"time": "when", "status": "answer.code"}`. It is for the format generic-json alone; null: the usual keys.
alter table fleet_source add column mapping jsonb;
