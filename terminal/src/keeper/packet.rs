//! One message of the keeper's socket: a packet of bytes with at most one descriptor (unix(7), SOCK_SEQPACKET).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// A packet that was taken.
#[derive(Debug)]
pub(super) struct Received {
    /// Bytes of it; 0 is the end.
    pub(super) length: usize,
    pub(super) descriptor: Option<OwnedFd>,
    /// A descriptor came with it that this process has no room for.
    pub(super) is_descriptor_lost: bool,
}

/// Whether the system is short of what a packet takes just now: nothing was sent or taken, the other end is there, and no readiness
/// tells when to try again. `ETOOMANYREFS` is of this user's descriptors in all sockets.
pub(super) fn is_short(error: &io::Error) -> bool {
    let short = [libc::ENOBUFS, libc::ENOMEM, libc::ETOOMANYREFS];
    error.raw_os_error().is_some_and(|code| short.contains(&code))
}

/// Sends one packet, without waiting.
///
/// # Errors
/// `WouldBlock` where the other end has not read enough; then nothing was sent. See also [`is_short`].
pub(super) fn send(socket: impl AsFd, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors
        && !control.push(SendAncillaryMessage::ScmRights(descriptors))
    {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags) {
            Ok(_whole) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes one packet into `buffer`, without waiting.
///
/// # Errors
/// `WouldBlock` where there is none now, `InvalidData` where it was longer than `buffer` or brought more than one descriptor. See
/// also [`is_short`].
pub(super) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut was_reset = false;
    let received = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut control, flags) {
            Ok(received) => break received,
            Err(Errno::INTR) => {}
            // Said once, ahead of what the other end had sent, when that ended without having read all that it was sent.
            Err(Errno::CONNRESET) if !was_reset => was_reset = true,
            Err(error) => return Err(error.into()),
        }
    };
    let mut descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptor = descriptors.by_ref().flatten().next();
    // What is left is closed here; whether there was any more has to be known, so it is counted.
    let surplus = descriptors.flatten().count();
    // At the limit of open descriptors the kernel takes the packet all the same, and leaves out the descriptor.
    let is_cut = received.flags.contains(ReturnFlags::CTRUNC);
    let is_descriptor_lost = is_cut && descriptor.is_none();
    if surplus > 0 || (is_cut && !is_descriptor_lost) || received.flags.contains(ReturnFlags::TRUNC) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Received {
        length: received.bytes,
        descriptor,
        is_descriptor_lost,
    })
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::{Received, receive, send};

    #[test]
    fn the_last_words_of_who_ended_without_reading_are_heard() {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        send(&ours, b"never read", None).unwrap();
        send(&theirs, b"last words", None).unwrap();
        drop(theirs);
        let mut buffer = [0; 16];
        let Received { length, .. } = receive(&ours, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"last words");
        assert_eq!(receive(&ours, &mut buffer).unwrap().length, 0);
    }
}
