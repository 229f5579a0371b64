//! The OpenAPI document, made from the routes themselves. `web/openapi.json` is its snapshot, from
//! which the UI's client is generated.

use axum::extract::State;
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, OpenApi, Ref, RefOr, ResponseBuilder,
    path::{Operation, PathItem},
    security::{
        ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState, error::ErrorBody, incidents::IncidentState, monitor_list::MonitorSort, request::Json,
    status_posts::StatusPostState,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_openapi))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "about", security(()),
    extensions(("x-role" = json!("none"))),
    responses((status = 200, description = "OpenAPI 3.1")))]
async fn get_openapi(State(_state): State<AppState>) -> Json<OpenApi> {
    Json(document())
}

/// The whole document, as `quorate openapi` prints it.
pub fn document() -> OpenApi {
    let (_, mut document) = super::routes().split_for_parts();
    document.info = InfoBuilder::new()
        .title("Quorate")
        .version("1")
        .description(Some(
            "Outside-in monitoring that pages only when enough locations agree. Instants are RFC 3339 \
             in UTC with milliseconds; unknown request fields are refused; lists are \
             {items, next}; errors are {error: {code, message, field?}}. `x-role` says who may call.",
        ))
        .build();
    document.security = Some(vec![
        SecurityRequirement::new("token", Vec::<String>::new()),
        SecurityRequirement::new("session", Vec::<String>::new()),
    ]);
    add_components(&mut document);
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            add_errors(operation);
        }
    }
    document
}

/// The same, as text with a line feed at the end.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

fn add_components(document: &mut OpenApi) {
    let components = document.components.take().unwrap_or_default();
    let error = ResponseBuilder::new()
        .description("Refused, or failed; nothing was stored.")
        .content(
            "application/json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build(),
        )
        .build();
    let mut schemas = Vec::new();
    <ErrorBody as utoipa::ToSchema>::schemas(&mut schemas);
    document.components = Some(
        ComponentsBuilder::from(components)
            .schemas_from_iter(schemas)
            .schema("ErrorBody", <ErrorBody as utoipa::PartialSchema>::schema())
            // Used in queries only, where they are referred to but not collected.
            .schema("IncidentState", <IncidentState as utoipa::PartialSchema>::schema())
            .schema("MonitorSort", <MonitorSort as utoipa::PartialSchema>::schema())
            .schema("StatusPostState", <StatusPostState as utoipa::PartialSchema>::schema())
            .response("Error", error)
            .security_scheme(
                "token",
                SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build()),
            )
            .security_scheme(
                "session",
                SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("quorate_session"))),
            )
            .build(),
    );
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
        .into_iter()
        .flatten()
}

fn add_errors(operation: &mut Operation) {
    let error = || RefOr::Ref(Ref::from_response_name("Error"));
    for status in ["4XX", "5XX"] {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(error);
    }
}
