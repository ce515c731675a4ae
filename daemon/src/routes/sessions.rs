//! `/v1/sessions` and below.

mod create;
mod list;
mod show;
mod stop;

pub(super) use create::create;
pub(super) use list::list;
pub(super) use show::show;
pub(super) use stop::stop;
