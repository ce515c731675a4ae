//! End-to-end tests over the real binary; the tree mirrors the routes.

#![expect(clippy::unwrap_used, reason = "a test fails by its panic")]

mod access_matrix;
mod audit;
mod auth;
mod backup;
mod certificates;
mod cli;
mod devices;
mod embed;
mod events;
mod examples;
mod gate;
mod guests;
mod life;
mod limits;
mod lockdown;
mod log;
mod metrics;
mod openapi;
mod pairing_lane;
mod reload;
mod restart;
mod secrets;
mod service;
mod sessions;
mod store;
mod storm;
mod tailnet;
mod workspace;
