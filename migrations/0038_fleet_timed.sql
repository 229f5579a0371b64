-- Requests held against the bounds of SLOs on them: by bound in µs, how many of the good ones were judged and
-- how many of these were slow, such as {"300000": [940, 12]}. Null: no bound was asked for when the lines came.
-- What an older version writes has none, which reads as not judged.
alter table fleet_pool add column timed jsonb;
alter table fleet_pool_quarter add column timed jsonb;
alter table fleet_request_minute add column timed jsonb;
