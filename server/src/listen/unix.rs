//! Connections of the Unix socket: the peer is what the kernel says.

use std::{io, sync::Arc};

use tokio::net::UnixStream;

use super::serve;
use crate::{
    edge::Edge,
    peer::{LocalPeer, Peer},
    stream::{Socket, Stream},
};

pub(super) fn begin(socket: UnixStream, edge: &Arc<Edge>) -> io::Result<()> {
    let credentials = socket.peer_cred()?;
    let peer = Peer::Local(LocalPeer {
        uid: credentials.uid(),
        pid: credentials.pid(),
    });
    let socket = Socket::Unix(Arc::new(socket));
    let stream = Stream::new(socket.clone(), edge.access.connections().accept(peer, socket));
    let connection = Arc::clone(stream.connection());
    tokio::spawn(serve(stream, false, connection, Arc::clone(edge)));
    Ok(())
}
