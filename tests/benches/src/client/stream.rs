//! Blocking streams: no runtime stands between the client and the kernel.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};

use crate::gate::PATIENCE;

/// Any byte stream.
pub(super) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// TLS that reads on where it can no longer be written to: what came before the end is still there.
pub(crate) struct Tls {
    connection: ClientConnection,
    socket: TcpStream,
}

/// A Unix stream.
pub(super) fn unix(socket: &str) -> Result<Box<dyn Stream>> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

/// TLS 1.3 with whoever holds the pin's key, not resumed.
pub(crate) fn connect(address: SocketAddr, pin: &str) -> Result<Tls> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let name = ServerName::try_from("localhost")?;
    let mut connection = ClientConnection::new(config(pin)?, name)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    Ok(Tls { connection, socket })
}

/// A whole connection and nothing else: up to the first byte from the other end.
pub(crate) fn handshake(address: SocketAddr, pin: &str) -> Result<()> {
    Ok(connect(address, pin)?.read_exact(&mut [0])?)
}

impl Read for Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end without a goodbye is an end.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            match self.connection.read_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(0),
                Err(error) => return Err(error),
            }
            self.connection.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

impl Write for Tls {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(buffer)?;
        self.flush()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}

/// One configuration per pin: what it costs to make belongs to no connection.
fn config(pin: &str) -> Result<Arc<ClientConfig>> {
    static LAST: Mutex<Option<(String, Arc<ClientConfig>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, config)) = last.as_ref()
        && known == pin
    {
        return Ok(Arc::clone(config));
    }
    let mut config = certs::client_config(pin.parse()?);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let config = Arc::new(config);
    *last = Some((pin.to_owned(), Arc::clone(&config)));
    Ok(config)
}
