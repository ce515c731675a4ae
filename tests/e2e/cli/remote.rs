//! The command line as a device of daemons elsewhere: `transom remote`, and `--on`.

mod add;
mod asleep;
mod attach;
mod relay;
mod secrets;
mod ssh;
mod verbs;
