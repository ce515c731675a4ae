//! `/v1/certificates`, and what is below it.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use certs::CertsError;
use http::{HeaderValue, header};
use pairing::marker::DaemonManage;
use protocol::{
    Problem,
    certificates::{Certificates, Knowing, NextKey, Root, Rotated, Trust},
};
use server::{App, Failure, Operation, Peer, Permitted, audit::AuditRow, extract::OptionalJson};

use crate::{actor, app, certificates, tasks};

/// `GET /v1/certificates`
pub(crate) async fn show(
    App(app): App<app::App>,
    Permitted(_): Permitted<DaemonManage>,
) -> Json<Certificates> {
    Json(shown(&app))
}

/// `POST /v1/certificates/trust`
pub(crate) async fn trust(
    App(app): App<app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(Trust {}): OptionalJson<Trust>,
) -> Result<Json<Root>, NotMade> {
    let row = actor::row(permit.principal(), &peer, "authority_made", "daemon");
    let making = async move {
        let certificates = app.run.doors.certificates();
        if !certificates.is_trusted(certificates::now()) {
            app.access.append_audit_of_end(row.clone()).await;
        }
        let made = certificates.on_disk(|certificates| certificates.trust(certificates::now()));
        match made.await {
            Ok(true) => {
                tracing::info!("made an authority for devices to trust");
                begin_generation(&app).await;
            }
            Ok(false) => {}
            Err(error) => return Err(undone(&app, row, error).await),
        }
        let root = shown(&app).root.ok_or(NotMade(CertsError::Parsing("the root")))?;
        Ok(Json(root))
    };
    tasks::to_its_end(making).await
}

/// `DELETE /v1/certificates/trust`
pub(crate) async fn distrust(
    App(app): App<app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
) -> Result<Json<Certificates>, NotMade> {
    let row = actor::row(permit.principal(), &peer, "authority_forgotten", "daemon");
    let forgetting = async move {
        let certificates = app.run.doors.certificates();
        if certificates.root().is_some() {
            app.access.append_audit_of_end(row.clone()).await;
        }
        match certificates.on_disk(certificates::Certificates::distrust).await {
            Ok(true) => begin_generation(&app).await,
            Ok(false) => {}
            Err(error) => return Err(undone(&app, row, error).await),
        }
        Ok(Json(shown(&app)))
    };
    tasks::to_its_end(forgetting).await
}

/// `POST /v1/certificates/next`
pub(crate) async fn next(
    App(app): App<app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(NextKey {}): OptionalJson<NextKey>,
) -> Result<Json<Certificates>, NotMade> {
    let _turn = app.run.rotation.lock().await;
    let certificates = app.run.doors.certificates();
    let next = certificates
        .on_disk(certificates::Certificates::make_next)
        .await?;
    let row = actor::row(permit.principal(), &peer, "next_key_announced", "daemon").detail(next.to_string());
    // No device is told of it before.
    app.access.append_audit_of_end(row).await;
    app.access.announce(next);
    Ok(Json(shown(&app)))
}

/// `POST /v1/certificates/rotate`
pub(crate) async fn rotate(
    App(app): App<app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(NextKey {}): OptionalJson<NextKey>,
) -> Result<Json<Rotated>, NotMade> {
    let row = actor::row(permit.principal(), &peer, "key_rotated", "daemon");
    let rotating = async move {
        let certificates = app.run.doors.certificates();
        // Nobody else rotates meanwhile: it is this one that comes next.
        let _turn = app.run.rotation.lock().await;
        let devices = knowing(&app);
        let next = certificates
            .on_disk(certificates::Certificates::make_next)
            .await?;
        let row = row.detail(format!("{next} instead of {}", certificates.pin()));
        app.access.append_audit_of_end(row.clone()).await;
        // Key and pin change with no wait in between: nobody is shown the one and told of the other.
        let access = Arc::clone(&app.access);
        let rotated = certificates.on_disk(move |certificates| {
            certificates.rotate(certificates::now(), |pin| access.rotate_pin(pin))
        });
        let (pin, former) = match rotated.await {
            Ok(rotated) => rotated,
            Err(error) => return Err(undone(&app, row, error).await),
        };
        begin_generation(&app).await;
        // Whoever is connected has seen the former key: nobody goes on by that.
        let closed = app.access.close_peers(|_| true).await;
        tracing::warn!(%pin, %former, closed, "another identity key is served");
        Ok(Rotated {
            pin: pin.to_string(),
            former_pin: former.to_string(),
            devices,
            closed,
            root_stays: certificates.root().is_some(),
        })
    };
    tasks::to_its_end(rotating).await.map(Json)
}

/// `GET /v1/certificates/root`: for a device that is told to trust it. Whoever reads it compares its hash with what the owner
/// sees: on the way here nothing vouches for it yet.
pub(crate) async fn root(App(app): App<app::App>) -> Response {
    let Some(root) = app.run.doors.certificates().root() else {
        return no_root().into_response();
    };
    let kind = HeaderValue::from_static(ROOT_KIND);
    ([(header::CONTENT_TYPE, kind)], root.to_vec()).into_response()
}

fn no_root() -> Failure {
    Failure::NotFound("no device is told to trust this daemon's certificates")
}

/// Why there is no authority; nothing changed.
pub(crate) struct NotMade(CertsError);

impl From<CertsError> for NotMade {
    fn from(error: CertsError) -> Self {
        Self(error)
    }
}

impl NotMade {
    fn problem(&self) -> Problem {
        let hint = "check the folder of keys in the state directory, its owner and the free space";
        Problem::new(500, NOT_MADE, self.0.to_string(), hint)
    }

    /// What may be said of one.
    fn problems() -> Vec<Problem> {
        vec![Self(CertsError::Parsing("the root")).problem()]
    }
}

impl IntoResponse for NotMade {
    fn into_response(self) -> Response {
        server::error::answer(&self.problem())
    }
}

/// The doors are not held before that: who has them must not wait for the disk.
async fn begin_generation(app: &app::App) {
    let held = app.access.hold_doors().await;
    app.run.doors.begin_generation(&held).await;
}

/// Writes down that nothing came of what a row said.
async fn undone(app: &app::App, row: AuditRow, error: CertsError) -> NotMade {
    let row = row.outcome(NOT_MADE).detail(error.to_string());
    app.access.append_audit_of_end(row).await;
    NotMade(error)
}

fn shown(app: &app::App) -> Certificates {
    let mut certificates = app.run.doors.certificates().show();
    certificates.next_pin = app.access.next_pin().map(|pin| pin.to_string());
    certificates.devices = knowing(app);
    let authority = match app.access.is_locked_down() {
        true => None,
        false => app.run.doors.link_authority(),
    };
    if let (Some(root), Some(authority)) = (&mut certificates.root, authority) {
        root.url = Some(format!("https://{authority}/v1/certificates/root"));
    }
    certificates
}

fn knowing(app: &app::App) -> Vec<Knowing> {
    let knowing = app.access.knowing().into_iter();
    knowing.map(|(id, label, by)| Knowing { id, label, by }).collect()
}

/// What devices take for a certificate that they may come to trust.
const ROOT_KIND: &str = "application/x-x509-ca-cert";
/// What an answer and the audit trail call it that nothing was made.
const NOT_MADE: &str = "certificate_failed";

pub(crate) const SHOW: Operation = Operation::new(
    "certificates",
    "Shows what the listeners show, and how each device knows the daemon.",
)
.gives::<Certificates>(200);

pub(crate) const TRUST: Operation = Operation::new(
    "make_root",
    "Makes a root for devices to trust, where there is none that is good for all names.",
)
.may_take::<Trust>()
.gives::<Root>(200)
.fails(NotMade::problems);

pub(crate) const DISTRUST: Operation =
    Operation::new("forget_root", "Forgets the root that devices were told to trust.")
        .gives::<Certificates>(200)
        .fails(NotMade::problems);

pub(crate) const NEXT: Operation = Operation::new(
    "announce_key",
    "Makes the identity key that comes next, and announces its pin.",
)
.may_take::<NextKey>()
.gives::<Certificates>(200)
.fails(NotMade::problems);

pub(crate) const ROTATE: Operation = Operation::new(
    "rotate_key",
    "Serves the identity key that comes next from now on, and closes what knew the former.",
)
.may_take::<NextKey>()
.gives::<Rotated>(200)
.fails(NotMade::problems);

pub(crate) const ROOT: Operation = Operation::new(
    "root_certificate",
    "Gives the root that devices were told to trust, in DER.",
)
.explained(
    "Whoever reads it compares its hash with what the owner sees: on the way nothing vouches for it yet.",
)
.gives_other(200, ROOT_KIND)
.fails(|| vec![no_root().problem()]);
