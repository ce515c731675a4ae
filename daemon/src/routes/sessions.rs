//! `/v1/sessions` and below.

mod change;
mod create;
mod input;
mod keys;
mod list;
mod note;
mod output;
mod recording;
mod remove;
mod restore;
mod screen;
mod show;
mod size;
mod stop;
mod wait;

pub(super) use change::change;
pub(super) use create::create;
pub(super) use input::input;
pub(super) use keys::keys;
pub(super) use list::list;
pub(super) use note::note;
pub(super) use output::output;
pub(super) use recording::recording;
pub(super) use remove::remove;
pub(super) use restore::restore;
pub(super) use screen::screen;
pub(super) use show::show;
pub(super) use size::size;
pub(super) use stop::stop;
pub(super) use wait::wait;
