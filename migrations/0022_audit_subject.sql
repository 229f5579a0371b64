-- What was done to a monitor in the time that a report covers.
create index audit_subject_idx on audit (subject, at);
