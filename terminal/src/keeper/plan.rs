//! What a reaper executes, as a file in memory: arguments and environment may be longer than a message.
//!
//! Integers little-endian; a text is its length (u32) and its bytes. In order: the limit on descriptors (a byte: there is one; two
//! u64, `u64::MAX` for none), path, directory, then the arguments from the program's own name on and the environment as
//! `NAME=value`, each as their count (u32) and their texts.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, SeekFrom, fstat, memfd_create, seek};

use super::message::Malformed;
use crate::spawn::{Command, DescriptorLimit};

/// Writes the plan to execute the file at `path` as `command` says.
pub(super) fn write(command: &Command, path: &Path) -> io::Result<OwnedFd> {
    let file = memfd_create("transom-plan", MemfdFlags::CLOEXEC)?;
    let bytes = encode(command, path)?;
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&file, rest)?..];
    }
    Ok(file)
}

/// A plan that was read: everything as `execve` takes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) limit: Option<DescriptorLimit>,
    pub(super) path: CString,
    pub(super) cwd: CString,
    pub(super) args: Vec<CString>,
    pub(super) env: Vec<CString>,
}

/// Reads a plan back.
pub(super) fn read(file: &OwnedFd) -> io::Result<Plan> {
    let length = usize::try_from(fstat(file)?.st_size).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    seek(file, SeekFrom::Start(0))?;
    let mut bytes = vec![0; length];
    let mut taken = 0;
    while taken < length {
        match rustix::io::read(file, &mut bytes[taken..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => taken += more,
        }
    }
    decode(&bytes).map_err(|Malformed| io::ErrorKind::InvalidData.into())
}

fn encode(command: &Command, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match command.descriptor_limit {
        None => bytes.push(0),
        Some(DescriptorLimit { soft, hard }) => {
            bytes.push(1);
            bytes.extend(soft.unwrap_or(u64::MAX).to_le_bytes());
            bytes.extend(hard.unwrap_or(u64::MAX).to_le_bytes());
        }
    }
    put(&mut bytes, &[path.as_os_str().as_bytes()])?;
    put(&mut bytes, &[command.cwd.as_os_str().as_bytes()])?;
    put_count(&mut bytes, 1 + command.args.len())?;
    put(&mut bytes, &[command.program.as_bytes()])?;
    for arg in &command.args {
        put(&mut bytes, &[arg.as_bytes()])?;
    }
    put_count(&mut bytes, command.env.len())?;
    for (name, value) in &command.env {
        put(&mut bytes, &[name.as_bytes(), b"=", value.as_bytes()])?;
    }
    Ok(bytes)
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) -> io::Result<()> {
    put_count(bytes, parts.iter().map(|part| part.len()).sum())?;
    parts.iter().for_each(|part| bytes.extend(*part));
    Ok(())
}

fn put_count(bytes: &mut Vec<u8>, count: usize) -> io::Result<()> {
    let count = u32::try_from(count).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    bytes.extend(count.to_le_bytes());
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<Plan, Malformed> {
    let mut rest = bytes;
    let limit = match take::<1>(&mut rest)? {
        [0] => None,
        [1] => Some(DescriptorLimit {
            soft: limit(&mut rest)?,
            hard: limit(&mut rest)?,
        }),
        _ => return Err(Malformed),
    };
    let plan = Plan {
        limit,
        path: text(&mut rest)?,
        cwd: text(&mut rest)?,
        args: texts(&mut rest)?,
        env: texts(&mut rest)?,
    };
    match rest.is_empty() && !plan.args.is_empty() {
        true => Ok(plan),
        false => Err(Malformed),
    }
}

/// How many bytes the plan takes that these are; none where they are no plan.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let plan = decode(bytes).ok()?;
    let texts = [&plan.path, &plan.cwd]
        .into_iter()
        .chain(&plan.args)
        .chain(&plan.env);
    let texts: usize = texts.map(|text| COUNT + text.as_bytes().len()).sum();
    let limits = plan.limit.map_or(0, |_| 2 * size_of::<u64>());
    Some(1 + limits + texts + 2 * COUNT)
}

fn limit(rest: &mut &[u8]) -> Result<Option<u64>, Malformed> {
    let value = u64::from_le_bytes(take(rest)?);
    Ok((value != u64::MAX).then_some(value))
}

fn texts(rest: &mut &[u8]) -> Result<Vec<CString>, Malformed> {
    let count = u32::from_le_bytes(take(rest)?);
    // Nothing is reserved by what is only said: a text takes at least its four bytes of length.
    (0..count).map(|_| text(rest)).collect()
}

fn text(rest: &mut &[u8]) -> Result<CString, Malformed> {
    let length = u32::from_le_bytes(take(rest)?) as usize;
    let (text, after) = rest.split_at_checked(length).ok_or(Malformed)?;
    *rest = after;
    CString::new(text).map_err(|_| Malformed)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (field, after) = rest.split_first_chunk().ok_or(Malformed)?;
    *rest = after;
    Ok(*field)
}

/// Bytes of a count.
const COUNT: usize = size_of::<u32>();
/// Bytes; the kernel takes at most six megabytes of arguments and environment (execve(2)).
const LONGEST: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::ffi::{CString, OsString};
    use std::path::Path;

    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Plan, decode, encode, read, write};
    use crate::size::Size;
    use crate::spawn::{Command, DescriptorLimit};

    fn command(args: Vec<OsString>) -> Command {
        Command {
            program: "sh".into(),
            args,
            cwd: "/tmp".into(),
            env: vec![("A".into(), "b=c".into())],
            size: Size::default(),
            descriptor_limit: Some(DescriptorLimit {
                soft: Some(10),
                hard: None,
            }),
        }
    }

    fn text(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    #[test]
    fn a_plan_reads_back_as_execve_takes_it() {
        let long = "x".repeat(300_000);
        let file = write(
            &command(vec![long.clone().into(), "".into()]),
            Path::new("/bin/sh"),
        )
        .unwrap();
        let expected = Plan {
            limit: Some(DescriptorLimit {
                soft: Some(10),
                hard: None,
            }),
            path: text("/bin/sh"),
            cwd: text("/tmp"),
            args: vec![text("sh"), text(&long), text("")],
            env: vec![text("A=b=c")],
        };
        assert_eq!(read(&file).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_plan_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_plan_that_is_cut_is_refused(cut in any::<usize>()) {
            let whole = encode(&command(vec!["-c".into()]), Path::new("/bin/sh")).unwrap();
            prop_assert_eq!(decode(&whole[..cut % whole.len()]).is_err(), true);
        }
    }
}
