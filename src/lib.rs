//! Quorate watches public endpoints from several locations and alerts when enough of them agree.
//!
//! # The map
//!
//! In reading order. The outside and the inside meet only in [`protocol`] and [`domain`].
//!
//! | module | what it is |
//! |---|---|
//! | [`domain`] | THE RULES: plain data and functions. What a check is ([`domain::check`]), whether a condition holds ([`domain::assertion`]), which addresses may be probed ([`domain::address`]), what votes mean ([`domain::decision`]), who is told ([`domain::notice`]), what is told together ([`domain::storm`]), how much was up and what it cost of the budget ([`domain::slo`]) |
//! | [`protocol`] | what agent and coordinator say to each other |
//! | **outside** | |
//! | [`net`] | the guarded connector: no connection to a denied address; name look-ups |
//! | [`probe`] | ONE check: [`probe::run`] gives an observation, never an error |
//! | [`agent`] | what is due (`schedule`, pure), attempts and repeats (`runner`, `attempt`), results on disk (`spool`), delivery (`link`) |
//! | [`shipper`] | follows log files through rotation and restarts, forwards each byte once |
//! | [`uplink`] | requests of agents and shippers to the coordinator, and the pauses between failures |
//! | **inside** | |
//! | [`store`] | EVERY SQL STATEMENT, a file per subject; functions take a connection |
//! | [`triage`] | reports or silence → states, incidents, notices, in one transaction: the only door |
//! | [`publish`] | figures as documents: reports as CSV and HTML, OpenSLO, badges and feeds; pure |
//! | [`notify`] | the outbox's other end: claim, render (pure), send, settle; a file per channel |
//! | [`intake`] | batches of log lines → sums and events of fleets, exactly once by file and offset |
//! | [`upkeep`] | timed chores as steps: sweep, partitions, roll-ups, refolds of late reports, retention; judging fleets |
//! | [`api`] | the HTTP interface: a file per resource, the agents' link, the embedded pages |
//! | **processes** | |
//! | [`coordinator`] | wiring only: pool, loops, server |
//! | [`up`] | everything on one machine, with a private Postgres ([`up::postgres`]) |
//! | [`cli`] | the tools: `probe`, `decide`, `logs`, `slo`, `bench`, and how the services print |
//! | [`config`], [`process`], [`clock`] | flags and environment; logs, signals and own health; the only reader of wall time |
//!
//! Beside `src/`: `migrations/` (the schema; its comments carry the design of the storage), `web/` (the
//! pages; their client is generated from `web/openapi.json`), `tests/it/` (one test binary, a file per
//! subject), `tests/vectors/` (decisions and SLOs with their expected answers).
//!
//! # The way of one report
//!
//! 1. [`agent`]`::schedule` says that a monitor is due; `attempt` calls [`probe::run`], which resolves,
//!    connects, asks, and lets [`domain::assertion`] judge, so that bodies stay with the agent.
//! 2. `agent::spool` keeps the result on disk until `agent::link` has had a 200 for it.
//! 3. `api::agent_link` knows the agent by its token and calls [`triage::Triage::accept`].
//! 4. In one transaction: lock the agent's `agent_boot` row (doubles end here), lock the monitors' live
//!    rows in id order, read them, [`domain::decision::step`] each, then `triage::effects` writes
//!    intervals, decisions, incidents and, for everybody whom [`domain::notice::recipients`] names, a
//!    row in the outbox; last the raw results by COPY.
//! 5. [`notify`] claims the row under a lease, renders it (`notify::message`, `notify::email`), sends and
//!    settles it.
//! 6. Pages read `api` → `store`, told by `GET /events` that something changed.
//!
//! Silence takes the same road: [`upkeep::Upkeep::sweep`] calls [`triage::Triage::sweep`] when a
//! monitor's `wake_at` has come.
//!
//! A job that calls us is not probed and has no votes: `api::heartbeat_calls` calls [`triage::Triage::called`],
//! which decides by [`domain::decision::heartbeat`]; from the verdict on all is the same.
//!
//! A fleet's logs take a road of their own: `api::fleet_logs` calls [`intake::Intake::accept`], which stores
//! sums; [`upkeep::fleets`] judges a window once its lines are here, and [`triage::fleets`] makes incidents
//! of what is found.
//!
//! Which locations are believed is looked at every few seconds ([`upkeep::Upkeep::look_at_locations`],
//! [`triage::health`], rules in [`domain::location::health`]), written down, and read by every decision.
//!
//! A failover group is answered as its members' monitors stand ([`domain::failover`], [`triage::failover`],
//! `api::failover_feed`); a step of [`upkeep`] writes down and tells what changed.
//!
//! # What always holds
//!
//! * `domain` has no clock, no IO, no SQL, no HTTP and nothing that waits. `api` has no SQL, `store` has no
//!   rules. `tests/it/layering.rs` checks this, and which module may use which.
//! * A failed check is a value with a reason ([`domain::observation::Class`]), never an `Err`.
//! * The state of a monitor changes through [`triage`] only, under the lock of its live row. Lock order:
//!   `agent_boot`, live rows in id order, incidents, the lock of storms, the head of the assignments.
//! * A decision is stored with all that it rests on, so that anybody can take it again
//!   ([`domain::decision::basis`]); stored results can be decided under another policy
//!   ([`domain::decision::replay`]).
//! * Trouble of Quorate itself is an incident too, one for each cause ([`triage::platform`]), and alerts that no
//!   channel takes go to the fallback channel ([`triage::fallback`]).
//! * A certificate near its end is an incident of its own kind under its monitor, and never downtime
//!   ([`triage::certificates`], rules in [`domain::certificate`]).
//! * A notice is written in the transaction that decides and sent after it: nothing is sent that was not
//!   decided, and nothing decided is lost. Every attempt carries the same id.
//! * Nothing lives only in a process. What is remembered (settings, wave budgets) is checked or harmless.
//! * Maintenance is read from windows that are written down, and a plan's next one is before it begins
//!   ([`store::maintenance_plans`]). What has begun stays as it was when it began.
//! * `Error` is ours and `Fail` is the target's. Only passes and fails vote.
//! * What is not known is unknown: neither up nor down, in every figure.
//! * Figures of availability are integers and exact fractions; a double is for display, and a percentage
//!   is cut off, never rounded up. They come from one engine, [`domain::slo::evaluate`].
//! * There is no pass-through service layer, no trait with one implementation, no cargo feature, and
//!   nothing static that could change: two coordinators and five agents fit in one process.
//!
//! # Where a new … goes
//!
//! * **Check kind**: `domain/check/<kind>.rs` (settings, parsing, secrets; `domain/check/kind.rs` says what it
//!   owes) and its lines in the tables of [`domain::check::Check`]; `probe/<kind>.rs` and an arm in
//!   [`probe::run`]; its place in `web/src/pages/editor/kinds.ts`, with its fields and what it proposes.
//! * **Condition (assertion) subject**: an arm in [`domain::assertion`], and a field of `probe/conclude.rs`.
//! * **Failure class**: a line in [`domain::observation`]; the number is stored, so it is never reused.
//! * **Channel kind**: `domain/channel` (configuration and an arm in its kind), `notify/<kind>.rs` and an
//!   arm in `Notifier::send` (`notify/mod.rs`); its form section in `web/src/pages/alerting`. If people can answer it
//!   where they read it: `domain/callback/<kind>.rs` and a route in `api/callbacks.rs`.
//! * **Field of the API**: the struct beside its handler in `api/<resource>.rs` (a monitor's own fields:
//!   `api/monitors.rs` for the shape, `api/monitor_form.rs` for the rules), the statement in
//!   `store/<resource>.rs`, a column in a new migration; then `quorate openapi > web/openapi.json` and
//!   `npm run gen` in `web/`.
//! * **Access-log format**: a file in `accesslog/` that makes records and events from bytes, its name in
//!   [`accesslog::Format`], an arm in [`accesslog::Parser::line`] and a place in the order of
//!   `accesslog/detect.rs`; lines of real programs in `tests/logs/`, with their origin.
//! * **Indicator of an SLO (SLI)**: a variant of [`domain::slo::definition::Sli`], its measure in
//!   `domain/slo/measure.rs`, its field in `domain/slo/document/definition.rs`, cases in `tests/vectors/slo/`.
//! * **Part of a report**: what only the store knows in `domain/slo/context.rs`, read by `store/slo_context.rs`;
//!   a column in `publish/csv.rs`, a section in `publish/html`. Figures come from [`domain::slo::report`] alone.
//! * **Something on a status page**: `publish/status` for how it looks, `api/public/assemble.rs` for what goes in. That
//!   file is the only one in which internal things meet public ones.
//! * **Document for another tool**: a file in [`publish`], pure, tested in `tests/it/publish`.
//! * **Trouble of Quorate itself**: a cause and its sentence in [`domain::platform`]; whoever finds it calls
//!   [`triage::platform::settle`] at every look.
//! * **Chore**: a step in [`upkeep`], claimed with `store::chores::claim`.
//! * **Statement**: a function in `store/`, then `make queries`.

pub mod accesslog;
pub mod agent;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod coordinator;
pub mod domain;
pub mod intake;
pub mod net;
pub mod notify;
pub mod probe;
pub mod process;
pub mod protocol;
pub mod publish;
pub mod shipper;
pub mod store;
pub mod triage;
pub mod up;
pub mod upkeep;
pub mod uplink;
