//! The product: sessions and events, on top of the access layer.

mod actor;
mod addresses;
mod app;
mod attach;
mod certificates;
pub mod config;
mod crowd;
mod doors;
mod events;
pub mod executable;
mod keeper;
pub mod lock;
mod log;
mod metrics;
pub mod offline;
pub mod openapi;
mod origin;
pub mod paths;
mod reload;
mod restart;
mod routes;
pub mod service;
mod sessions;
mod signals;
mod socket;
mod tailnet;
mod tally;
mod tasks;
mod up;
mod web_app;

pub use config::{Config, ConfigError};
pub use paths::Paths;
pub use routes::routes;
pub use tailnet::{NotOwn, Probe, ProbedNode, Trouble, probe};
pub use up::{UpError, UpOptions, check, file_hint, up};
pub use web_app::has_web_app;
