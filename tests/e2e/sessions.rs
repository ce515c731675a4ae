//! `/v1/sessions` and below.

mod attach;
mod attach_people;
mod attach_resume;
mod attach_screen;
mod attention;
mod bad_link;
mod change;
mod close_codes;
mod create;
mod flood;
mod full_disk;
mod idle;
mod input;
mod keep;
mod keeper;
mod look;
mod origin;
mod out_of_reach;
mod recording;
mod remove;
mod slow_links;
mod slow_viewers;
mod stop;
mod wait;
