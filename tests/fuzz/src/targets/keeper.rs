//! What daemon, keeper and reaper say to each other, and what program the keeper is told to start.

pub(crate) use terminal::fuzzing::keeper as run;
