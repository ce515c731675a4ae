//! Connections of the Unix socket: the peer is what the kernel says.

use std::{io, os::fd::AsFd, sync::Arc};

use tokio::net::UnixStream;

use super::serve;
use crate::{
    edge::Edge,
    peer::{LocalPeer, Peer},
    stream::{Socket, Stream},
};

pub(super) fn begin(socket: UnixStream, edge: &Arc<Edge>) -> io::Result<()> {
    let credentials = socket.peer_cred()?;
    let local = LocalPeer {
        uid: credentials.uid(),
        pid: credentials.pid(),
    };
    let process = edge.access.local_origin.meet(socket.as_fd(), &local);
    let socket = Socket::Unix(Arc::new(socket));
    let stream = Stream::new(
        socket.clone(),
        edge.access.connections().accept(Peer::Local(local), socket),
    );
    let connection = Arc::clone(stream.connection());
    connection.set_process(process);
    tokio::spawn(serve(stream, false, connection, Arc::clone(edge)));
    Ok(())
}
