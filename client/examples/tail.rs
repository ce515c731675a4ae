//! Pairs by the link of `transom pair`, read from standard input, and prints a session's output until its program ends.
use std::{env, error::Error, io, io::Write, sync::Arc};

use client::attachment::{Attachment, Begin, Event};
use client::protocol::attach::{ClientMessage, Mode, ServerMessage};
use client::protocol::sessions::Session;
use client::{Client, Device, Newcomer, Unstored, Verdict};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let name = env::args().nth(1).ok_or("usage: tail SESSION")?;
    let link = io::stdin().lines().next().ok_or("there is no link")??;
    let newcomer = Newcomer::by(link.trim().parse()?, "tail").await?;
    eprintln!("the digits of this program: {}", newcomer.code().grouped());
    let Verdict::Approved(nonce) = newcomer.wait().await? else {
        return Err("it was not let in".into());
    };
    let mut credential = newcomer.exchange(&nonce).await?;
    // A program that is to come back keeps the credential here; this one pairs each time.
    newcomer.commit(&mut credential).await?;
    let client = Client::of(Device::new(credential, Arc::new(Unstored))?);
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let session = sessions.into_iter().find(|session| session.name == name);
    let session = session.ok_or("there is no session of this name")?.id;
    let mut followed = Attachment::open(&client, &session, Mode::Lossless, Begin::Output, None).await?;
    while let Some(event) = followed.events.recv().await {
        match event {
            Event::Message(ServerMessage::Output { offset, bytes }) => {
                io::stdout().write_all(&bytes)?;
                io::stdout().flush()?;
                let offset = offset + bytes.len() as u64;
                followed.say.send(ClientMessage::Ack { offset }).ok(); // Who has closed has said why.
            }
            Event::Message(ServerMessage::Exit(_)) => return Ok(()),
            Event::Lost(error) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
