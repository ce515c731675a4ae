//! Reading standard input beside everything else.

use std::{io::Read, thread};

use tokio::sync::mpsc::{self, Receiver};

/// The chunks of standard input until its end, which closes the channel.
///
/// A thread of its own reads: a terminal cannot be read without blocking unless its file description, which the shell
/// shares, is made non-blocking. The thread ends with the process.
pub(super) fn read() -> Receiver<Vec<u8>> {
    let (chunks, received) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = [0; CHUNK];
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => {
                    if chunks.blocking_send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    received
}

/// Chunks that wait to be sent; more wait in the pipe.
const QUEUE: usize = 16;
/// Bytes of a chunk.
const CHUNK: usize = 4096;
