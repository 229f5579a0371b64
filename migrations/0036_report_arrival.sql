-- When a result arrived, as milliseconds after its attempt began: decisions were taken in the order of
-- arrival, so a replay needs it. Null in rows that were stored before this column was there.
alter table report add column late_ms integer;
