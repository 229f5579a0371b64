-- What an incident of a fleet is called: what is wrong, in a few words. Null for every other subject, which
-- has a name.
alter table incident add column title text;

-- Fleets whose alerts a window keeps silent. A window that names neither monitors nor fleets (both null)
-- covers everything; one that names fleets alone has no monitors ('{}'), one that names monitors alone has
-- no fleets (null).
alter table maintenance add column fleets integer[];
