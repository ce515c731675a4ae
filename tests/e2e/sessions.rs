//! `/v1/sessions` and below.

mod attach;
mod attach_people;
mod attach_resume;
mod change;
mod create;
mod flood;
mod input;
mod keeper;
mod look;
mod remove;
mod stop;
mod wait;
