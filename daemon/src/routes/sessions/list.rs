//! `GET /v1/sessions?deleted=`

use axum::Json;
use pairing::View;
use protocol::sessions::{ListQuery, Session};
use server::{App, Operation, Permitted, extract::Query};

pub(crate) async fn list(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Query(query): Query<ListQuery>,
) -> Json<Vec<Session>> {
    app.sessions.drawn_again(None).await;
    Json(app.sessions.list(&permit, query.deleted))
}

pub(crate) const LIST: Operation =
    Operation::new("list_sessions", "Lists the sessions that the principal may see.")
        .asks::<ListQuery>()
        .gives::<Vec<Session>>(200);
