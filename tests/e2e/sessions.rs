//! `/v1/sessions` and below.

mod attach;
mod create;
mod flood;
mod stop;
