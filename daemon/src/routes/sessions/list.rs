//! `GET /v1/sessions?deleted=`

use axum::Json;
use pairing::View;
use protocol::sessions::{ListQuery, Session};
use server::{App, Permitted, extract::Query};

pub(crate) async fn list(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Query(query): Query<ListQuery>,
) -> Json<Vec<Session>> {
    app.sessions.drawn_again(None).await;
    Json(app.sessions.list(&permit, query.deleted))
}
