//! The command line, as people and scripts meet it.

mod doctor;
mod every_verb;
mod exit_codes;
mod in_a_terminal;
mod pair_gates;
mod pair_pending;
mod pair_screen;
mod pair_unfinished;
mod pairing;
mod pipes;
mod remote;
mod scripts;
mod service;
mod shell_init;
mod verbs;
mod watch;
