//! One message of the keeper's socket: a packet of bytes with at most one descriptor (unix(7), SOCK_SEQPACKET).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sends one packet, without waiting.
///
/// # Errors
/// `WouldBlock` where the other end has not read enough; then nothing was sent.
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

/// Takes one packet, without waiting: its length in `buffer`, and the descriptor that came with it. A length of 0 is the end.
///
/// # Errors
/// `WouldBlock` where there is none now, `InvalidData` where it was longer than `buffer` or brought more than one descriptor.
pub(super) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
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
    if surplus > 0
        || received
            .flags
            .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((received.bytes, descriptor))
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::{receive, send};

    #[test]
    fn the_last_words_of_who_ended_without_reading_are_heard() {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        send(&ours, b"never read", None).unwrap();
        send(&theirs, b"last words", None).unwrap();
        drop(theirs);
        let mut buffer = [0; 16];
        let (length, _) = receive(&ours, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"last words");
        assert_eq!(receive(&ours, &mut buffer).unwrap().0, 0);
    }
}
