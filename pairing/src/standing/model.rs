//! Writers against a revocation, in every order and with every staleness that the memory model allows.

use alloc::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::Standing;
use super::checked::check;

/// What writers write into. loom fails a model in which two accesses of it are not ordered.
#[derive(Default)]
struct Program(UnsafeCell<u32>);

// Loom's cell is made for this, and only counts who reaches in.
impl Program {
    fn touch(&self) {
        self.0.with_mut(|_| ());
    }
}

#[test]
fn a_write_is_over_before_the_revocation_that_waited_for_it() {
    check(|| {
        let (standing, program) = (Standing::new(), loom::sync::Arc::new(Program::default()));
        let epoch = standing.epoch();
        let writer = thread::spawn({
            let (standing, program) = (Arc::clone(&standing), program.clone());
            move || {
                if let Some(_hold) = standing.hold(epoch) {
                    program.touch();
                }
            }
        });
        standing.end();
        while !standing.is_quiet() {
            thread::yield_now();
        }
        program.touch();
        writer.join().unwrap();
    });
}

#[test]
fn no_hold_of_a_former_epoch_is_given_and_none_is_lost_from_the_count() {
    check(|| {
        let standing = Standing::new();
        let epoch = standing.epoch();
        let writers = [(), ()].map(|()| {
            let standing = Arc::clone(&standing);
            thread::spawn(move || drop(standing.hold(epoch)))
        });
        standing.end();
        assert!(standing.hold(epoch).is_none());
        assert!(standing.hold(standing.epoch()).is_some());
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(standing.is_quiet());
        assert_ne!(standing.epoch(), epoch);
    });
}

#[test]
fn two_revocations_end_what_came_between_them() {
    check(|| {
        let standing = Standing::new();
        let first = standing.epoch();
        let revoking = thread::spawn({
            let standing = Arc::clone(&standing);
            move || standing.end()
        });
        standing.end();
        let between = standing.epoch();
        revoking.join().unwrap();
        assert!(standing.hold(first).is_none());
        assert_eq!(standing.hold(between).is_some(), standing.epoch() == between);
    });
}
