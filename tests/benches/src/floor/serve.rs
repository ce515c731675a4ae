//! Passing terminals on: one task reads each, two serve each connection.

use std::{fs::File, os::fd::OwnedFd, process::Child, sync::Arc};

use anyhow::{Context, Result};
use certs::{Identity, Names, Resolver};
use futures_util::{SinkExt, StreamExt};
use protocol::attach::{ClientMessage, ServerMessage};
use rustls::pki_types::UnixTime;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixListener, UnixStream, unix::pipe::Receiver},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_tungstenite::tungstenite::{
    Message,
    handshake::server::{ErrorResponse, Request, Response},
};

use super::{FloorKind, Ready, TOKEN, layer, log::Log, pty};

/// A terminal that is passed on.
#[derive(Clone)]
struct Terminal {
    log: Arc<Log>,
    master: Arc<OwnedFd>,
}

/// Serves until this process is killed.
pub(super) fn serve(kind: FloorKind, programs: &[Vec<String>]) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("floor").tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut children: Vec<Child> = Vec::new();
        let mut terminals = Vec::new();
        for words in programs {
            let (terminal, child) = begin(words)?;
            terminals.push(terminal);
            children.push(child);
        }
        match kind {
            FloorKind::Unix => unix(folder.path().join("floor"), terminals).await,
            FloorKind::Layer => layer::serve(folder.path()).await,
            kind => tls(kind, folder.path(), terminals).await,
        }
    })
}

fn begin(words: &[String]) -> Result<(Terminal, Child)> {
    let (master, child) = pty::spawn(words)?;
    pty::nonblocking(&master)?;
    let log = Log::new();
    // Not a pipe, but read and waited for as one.
    let readable = Receiver::from_file_unchecked(File::from(master.try_clone()?))?;
    tokio::spawn(read(readable, Arc::clone(&log)));
    let master = Arc::new(master);
    Ok((Terminal { log, master }, child))
}

async fn read(mut master: Receiver, log: Arc<Log>) {
    let mut buffer = vec![0; 64 * 1024];
    // An error is the end of it: no process has the terminal open any more.
    while let Ok(length @ 1..) = master.read(&mut buffer).await {
        log.append(&buffer[..length]).await;
    }
    log.end();
}

async fn unix(socket: std::path::PathBuf, terminals: Vec<Terminal>) -> Result<()> {
    for (number, terminal) in terminals.into_iter().enumerate() {
        let listener = UnixListener::bind(format!("{}.{number}", socket.display()))?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_unix(stream, terminal.clone()));
            }
        });
    }
    let socket = socket.display().to_string();
    let ready = Ready {
        socket,
        ..Ready::default()
    };
    println!("{}", serde_json::to_string(&ready)?);
    std::future::pending().await
}

async fn serve_unix(stream: UnixStream, terminal: Terminal) -> Result<()> {
    let (mut input, mut output) = stream.into_split();
    let master = terminal.master;
    let typing = tokio::spawn(async move {
        let mut typed = [0; 4096];
        while let Ok(length @ 1..) = input.read(&mut typed).await {
            pty::write(&master, &typed[..length])?;
        }
        anyhow::Ok(())
    });
    let mut reader = terminal.log.follow();
    let mut bytes = Vec::new();
    while reader.next(&mut bytes).await.is_some() {
        output.write_all(&bytes).await?;
        bytes.clear();
    }
    typing.abort();
    Ok(())
}

async fn tls(kind: FloorKind, folder: &std::path::Path, terminals: Vec<Terminal>) -> Result<()> {
    let identity = Identity::load_or_create(&folder.join("keys"))?;
    let certificate = identity.certificate(&Names::new("floor"), UnixTime::now())?;
    let acceptor = TlsAcceptor::from(certs::server_config(Resolver::new(certificate)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let ready = Ready {
        tls: Some((listener.local_addr()?, identity.pin().to_string())),
        ..Ready::default()
    };
    println!("{}", serde_json::to_string(&ready)?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (acceptor, terminals) = (acceptor.clone(), terminals.clone());
        tokio::spawn(async move {
            let mut stream = acceptor.accept(stream).await?;
            if kind == FloorKind::Tls {
                stream.write_all(&[0]).await?;
                stream.flush().await?;
                // The other end leaves first.
                stream.read_u8().await.ok();
                return Ok(());
            }
            serve_wss(stream, &terminals).await
        });
    }
}

async fn serve_wss(stream: TlsStream<TcpStream>, terminals: &[Terminal]) -> Result<()> {
    let mut number = None;
    #[expect(clippy::result_large_err, reason = "the callback's type is tungstenite's")]
    let check = |request: &Request, response: Response| {
        let bearer = request
            .headers()
            .get("authorization")
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if bearer != Some(TOKEN) {
            return Err(ErrorResponse::new(Some("no".to_owned())));
        }
        number = request.uri().path().trim_start_matches('/').parse::<usize>().ok();
        Ok(response)
    };
    let socket = tokio_tungstenite::accept_hdr_async(stream, check).await?;
    let terminal = number
        .and_then(|number| terminals.get(number))
        .context("there is no such terminal")?
        .clone();
    let (mut sink, mut stream) = socket.split();
    let master = terminal.master;
    let typing = tokio::spawn(async move {
        while let Some(Ok(message)) = stream.next().await {
            if let Ok(ClientMessage::Input { bytes, .. }) = ClientMessage::decode(&message.into_data()) {
                pty::write(&master, &bytes)?;
            }
        }
        anyhow::Ok(())
    });
    let mut reader = terminal.log.follow();
    let mut bytes = Vec::new();
    while let Some(offset) = reader.next(&mut bytes).await {
        let message = ServerMessage::Output {
            offset,
            bytes: std::mem::take(&mut bytes),
        };
        sink.send(Message::binary(message.encode())).await?;
    }
    sink.close().await.ok();
    typing.abort();
    Ok(())
}
