//! SLOs from and for other tools: OpenSLO in both directions, and files for sloth.

use axum::{extract::State, response::Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    request::{Json, Path, Query, Text, nul_free},
    slo_documents::file,
    slo_exchanged::{Names, body, in_the_file, quorum, same_definition},
    slo_form::{self, Form},
    slos::find,
};
use crate::{
    domain::{Invalid, slo::subject::Subject},
    publish::{
        openslo::{self, Objective, Source, slug},
        sloth,
    },
    store::{self, slos::SloRow},
    triage,
};

const YAML: &str = "application/yaml; charset=utf-8";

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(export_slo))
        .routes(routes!(export_slos))
        .routes(routes!(export_slo_for_sloth))
        .routes(routes!(import_slos))
}

/// One SLO as an OpenSLO v1 document. What the format has no field for stands in annotations, so that
/// importing it gives the same SLO again.
#[utoipa::path(get, path = "/slos/{id}/openslo", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, content_type = "application/yaml", body = String)))]
async fn export_slo(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let objective = outside(&mut conn, id, state.clock.now()).await?;
    let text = openslo::export(std::slice::from_ref(&objective)).map_err(of_one)?;
    let name = format!("{}.openslo.yaml", slug(&objective.name));
    Ok(file(YAML, "attachment", &name, text))
}

/// All SLOs as OpenSLO v1 documents, by name. Those that the format has no words for are named in a comment
/// at the head, with the reason.
#[utoipa::path(get, path = "/slos.openslo.yaml", tag = "slos", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, content_type = "application/yaml", body = String)))]
async fn export_slos(State(state): State<AppState>, _viewer: Viewer) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let rows = store::slos::all(&mut conn).await?;
    let names = Names::of(&mut conn, &rows).await?;
    let (mut head, mut documents) = (String::new(), String::new());
    for row in &rows {
        let one = names.outside(row, now).and_then(|objective| {
            openslo::export(std::slice::from_ref(&objective)).map_err(of_one)
        });
        match one {
            Ok(text) => documents.push_str(&text),
            Err(ApiError::Invalid(refusal)) => {
                let name = row.values.name.escape_default();
                let why = format!("{} {}", refusal.field, refusal.message);
                head.push_str(&format!("# Left out: {name}: {}\n", why.escape_default()));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(file(YAML, "attachment", "slos.openslo.yaml", head + &documents))
}

/// One SLO for sloth (`version: prometheus/v1`), which makes Prometheus rules of it over our `/metrics`. 422
/// for what those metrics cannot tell.
#[utoipa::path(get, path = "/slos/{id}/sloth", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, content_type = "application/yaml", body = String)))]
async fn export_slo_for_sloth(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let objective = outside(&mut conn, id, state.clock.now()).await?;
    let text = sloth::spec(&objective.service, std::slice::from_ref(&objective)).map_err(of_one)?;
    let name = format!("{}.sloth.yaml", slug(&objective.name));
    Ok(file(YAML, "attachment", &name, text))
}

/// The refusal of the only one there is.
fn of_one(refusal: Invalid) -> ApiError {
    let field = refusal.field.strip_prefix("slos[0]").unwrap_or(&refusal.field);
    let field = field.trim_start_matches('.').to_owned();
    ApiError::Invalid(Invalid { field, ..refusal })
}

async fn outside(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<Objective> {
    let row = find(conn, id, false).await?;
    let names = Names::of(conn, std::slice::from_ref(&row)).await?;
    names.outside(&row, now)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HowToImport {
    /// Say what would be done and store nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// An SLO of the same name is changed to what the file says; without it that is a refusal.
    #[serde(default)]
    pub replace: bool,
}

/// What became of a file.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloImport {
    /// Nothing was stored.
    pub dry_run: bool,
    pub items: Vec<ImportedSlo>,
    /// What is measured elsewhere, and so cannot be an SLO here.
    pub left_out: Vec<SloLeftOut>,
    /// What could not be carried over of those that were taken.
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ImportedSlo {
    /// Which document of the file, from 0.
    pub document: usize,
    pub name: String,
    /// Null where it would be made.
    pub id: Option<Uuid>,
    /// `created changed unchanged`
    pub done: &'static str,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloLeftOut {
    pub document: usize,
    pub name: String,
    pub why: String,
}

/// Takes over SLOs from a text of OpenSLO v1 documents (YAML or JSON): all of them, or none when one is
/// refused. A refusal names the document, from 0, and the field in it.
#[utoipa::path(post, path = "/slos/import", tag = "slos", extensions(("x-role" = json!("editor"))),
    params(HowToImport), request_body(content = String, content_type = "application/yaml"),
    responses((status = 200, body = SloImport)))]
async fn import_slos(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Query(how): Query<HowToImport>,
    Text(text): Text,
) -> ApiResult<Json<SloImport>> {
    let now = state.clock.now();
    let read = openslo::import(&text)?;
    let mut tx = state.pool.begin().await?;
    let mut out = SloImport {
        dry_run: how.dry_run,
        items: Vec::new(),
        left_out: Vec::new(),
        warnings: read.warnings,
    };
    for (document, objective) in read.documents.into_iter().zip(&read.objectives) {
        let name = objective.name.clone();
        if let Source::Foreign { .. } = objective.source {
            let why = "its metric is somebody else's, which nothing here measures";
            out.left_out.push(SloLeftOut { document, name, why: why.to_owned() });
            continue;
        }
        let taken = Import { how: &how, by: &caller.name, now }
            .take(&mut tx, objective, &mut out.warnings)
            .await
            .map_err(|error| in_the_file(error, document))?;
        out.items.push(ImportedSlo { document, name, id: taken.0, done: taken.1 });
    }
    if how.dry_run {
        tx.rollback().await?
    } else {
        tx.commit().await?
    }
    Ok(Json(out))
}

/// One import.
struct Import<'a> {
    how: &'a HowToImport,
    by: &'a str,
    now: Timestamp,
}

impl Import<'_> {
    /// Stores one; its id where it was or will be kept, and what was done.
    async fn take(
        &self,
        conn: &mut PgConnection,
        objective: &Objective,
        warnings: &mut Vec<String>,
    ) -> ApiResult<(Option<Uuid>, &'static str)> {
        let body = body(objective);
        nul_free(&body)?;
        let form = slo_form::read(conn, body, self.now).await?;
        warnings.extend(differs(conn, objective, &form).await?);
        let there = store::slos::named(conn, &form.values.name).await?;
        match there {
            None => {
                form.refuse_too_fine()?;
                let id = store::id_at(self.now);
                let key = store::slos::insert(conn, id, &form.values, self.now).await?;
                self.keep(conn, id, key, "slo.create", &form).await?;
                Ok((Some(id).filter(|_| !self.how.dry_run), "created"))
            }
            Some(_) if !self.how.replace => {
                let why = "is the name of an SLO that is here already; rename one, or import with replace=true";
                Err(ApiError::given("name", &form.values.name, why))
            }
            Some(id) => Ok((Some(id), self.replace(conn, id, &form).await?)),
        }
    }

    async fn replace(
        &self,
        conn: &mut PgConnection,
        id: Uuid,
        form: &Form,
    ) -> ApiResult<&'static str> {
        let old = find(conn, id, true).await?;
        let redefined = redefined(&old, form, self.now);
        if !redefined && about(&old) == about_form(form) {
            return Ok("unchanged");
        }
        if redefined {
            form.refuse_too_fine()?;
        }
        store::slos::update(conn, old.key, &form.values, redefined, self.now).await?;
        self.keep(conn, id, old.key, "slo.change", form).await?;
        Ok("changed")
    }

    /// What follows every change: the definition under its revision, the audit, the first evaluation.
    async fn keep(
        &self,
        conn: &mut PgConnection,
        id: Uuid,
        key: crate::domain::ids::SloKey,
        action: &str,
        form: &Form,
    ) -> ApiResult<()> {
        store::slos::keep_definition(conn, key, self.by, self.now).await?;
        let detail = json!({"name": form.values.name, "definition": form.values.definition, "import": "openslo"});
        let subject = format!("slo:{id}");
        store::audit::add(conn, self.now, self.by, action, &subject, &detail).await?;
        let row = find(conn, id, false).await?;
        Ok(triage::slos::refresh(conn, &row, self.now).await?)
    }
}

fn redefined(old: &SloRow, form: &Form, now: Timestamp) -> bool {
    old.values.subject != form.values.subject
        || !same_definition(&old.values.definition, &form.values.definition, now)
}

type About<'a> = (&'a str, &'a str, &'a str, &'a serde_json::Value, &'a Option<Vec<Uuid>>);

fn about(row: &SloRow) -> About<'_> {
    let v = &row.values;
    (&v.service, &v.description, &v.owner, &v.labels, &v.channels)
}

fn about_form(form: &Form) -> About<'_> {
    let v = &form.values;
    (&v.service, &v.description, &v.owner, &v.labels, &v.channels)
}

/// What the file says of the monitor and is not so here: nothing of a monitor is changed.
async fn differs(
    conn: &mut PgConnection,
    objective: &Objective,
    form: &Form,
) -> ApiResult<Option<String>> {
    let Subject::Monitor(key) = form.values.subject else { return Ok(None) };
    let Some(voting) = store::slos::voting(conn, &[key.0]).await?.pop() else { return Ok(None) };
    let here = quorum(&voting);
    let mut parts = Vec::new();
    if objective.interval.is_some_and(|ms| ms != i64::from(voting.interval_s) * 1_000) {
        parts.push("how often it is probed");
    }
    if objective.locations.is_some_and(|n| i64::from(n) != voting.locations) {
        parts.push("from how many locations");
    }
    let told = objective.locations.is_some();
    if told && (objective.quorum.policy, objective.quorum.confirm) != (here.policy, here.confirm) {
        parts.push("what makes it down");
    }
    Ok((!parts.is_empty()).then(|| {
        format!(
            "{}: its monitor is not as the file has it ({}), and stays as it is",
            objective.name,
            parts.join(", ")
        )
    }))
}
