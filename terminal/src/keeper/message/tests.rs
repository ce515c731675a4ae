//! Whatever comes over the socket is a message or refused.

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rustix::process::Pid;

use super::{Build, End, Malformed, Refusal, Reply, Request, Step, Versions};
use crate::id::SessionId;
use crate::process::{Exit, Member};
use crate::size::Size;

fn id() -> impl Strategy<Value = SessionId> {
    any::<[u8; 8]>().prop_map(SessionId::from_bytes)
}

fn member() -> impl Strategy<Value = Member> {
    (1..i32::MAX, any::<u64>()).prop_map(|(id, started)| Member {
        id: Pid::from_raw(id).unwrap(),
        started,
    })
}

fn end() -> impl Strategy<Value = End> {
    let exited = (any::<i32>(), 1..65_i32, any::<bool>(), any::<u64>(), any::<u64>());
    prop_oneof![
        proptest::strategy::Just(End::Running),
        proptest::strategy::Just(End::Unknown),
        exited.prop_map(
            |(code, signal, by_itself, duration_ms, peak_memory_bytes)| End::Exited(Exit {
                code: by_itself.then_some(code),
                signal: (!by_itself).then_some(signal),
                duration_ms,
                peak_memory_bytes,
            })
        ),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(min, max)| Request::Hello(Versions { min, max })),
        (id(), any::<u64>(), 1..1001_u16, 1..1001_u16).prop_map(|(id, capacity, columns, rows)| {
            Request::Spawn {
                id,
                capacity,
                size: Size::new(columns, rows),
            }
        }),
        proptest::strategy::Just(Request::List),
        id().prop_map(Request::Adopt),
        (id(), any::<u8>()).prop_map(|(id, signal)| Request::Signal(id, signal)),
        id().prop_map(Request::Forget),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        (any::<u16>(), member(), any::<[u8; 16]>()).prop_map(|(version, keeper, build)| Reply::Welcome {
            version,
            keeper,
            build: (version >= 2).then_some(Build(build)),
        }),
        proptest::strategy::Just(Reply::Refused(Refusal::Inside)),
        (id(), member()).prop_map(|(id, reaper)| Reply::Reaper { id, reaper }),
        id().prop_map(Reply::Cgroup),
        id().prop_map(Reply::Journal),
        (id(), any::<u32>(), end()).prop_map(|(id, leader, end)| Reply::Held { id, leader, end }),
        (id(), any::<i32>()).prop_map(|(id, errno)| Reply::NotStarted {
            id,
            step: Step::Program,
            errno
        }),
        (id(), member(), any::<u32>(), any::<bool>(), end()).prop_map(
            |(id, reaper, leader, forgotten, end)| Reply::Listed {
                id,
                reaper,
                leader,
                forgotten,
                end
            }
        ),
        proptest::strategy::Just(Reply::ListEnd),
        (id(), end()).prop_map(|(id, end)| Reply::Ended { id, end }),
        id().prop_map(Reply::Forgotten),
        id().prop_map(Reply::Unknown),
    ]
}

proptest! {
    #[test]
    fn a_request_reads_back_as_it_was_written(request in request()) {
        prop_assert_eq!(Request::decode(request.encode().bytes()), Ok(request));
    }

    #[test]
    fn a_reply_reads_back_as_it_was_written(reply in reply()) {
        prop_assert_eq!(Reply::decode(reply.encode().bytes()), Ok(reply));
    }

    #[test]
    fn any_bytes_are_refused_or_are_what_they_say(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        // A size is clamped as it is read: the one field that may come back as another.
        if let Ok(request) = Request::decode(&bytes) && !matches!(request, Request::Spawn { .. }) {
            prop_assert_eq!(request.encode().bytes().to_vec(), bytes.clone());
        }
        if let Ok(reply) = Reply::decode(&bytes) {
            prop_assert_eq!(reply.encode().bytes().to_vec(), bytes);
        }
    }

    #[test]
    fn a_message_that_is_cut_or_longer_is_refused(request in request(), reply in reply(), cut in any::<usize>()) {
        let bytes = request.encode().bytes().to_vec();
        prop_assert_eq!(Request::decode(&bytes[..cut % bytes.len()]), Err(Malformed));
        let mut longer = reply.encode().bytes().to_vec();
        prop_assert!(Reply::decode(&longer[..cut % longer.len()]).is_err());
        longer.push(0);
        prop_assert_eq!(Reply::decode(&longer), Err(Malformed));
    }
}

#[test]
fn the_highest_version_that_both_speak_is_spoken() {
    let versions = |min, max| Versions { min, max };
    assert_eq!(versions(1, 3).common(versions(2, 5)), Some(3));
    assert_eq!(versions(1, 3).common(versions(1, 2)), Some(2));
    assert_eq!(versions(1, 1).common(versions(2, 2)), None);
    assert_eq!(versions(3, 1).common(versions(1, 3)), None);
}

#[test]
fn a_build_is_its_packages_version_whatever_else_is_in_it() {
    assert_eq!(Build::ours().to_string(), env!("CARGO_PKG_VERSION"));
    assert_eq!(Build(*b"1.2\x1b[31m\0garbage").to_string(), "1.2[31m");
}
