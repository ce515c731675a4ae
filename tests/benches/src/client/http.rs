//! HTTP/1.1 on one kept connection, as cheap as it can be had.

use std::{
    io::{Read, Write},
    net::SocketAddr,
};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use super::stream::{self, Tls};

/// One connection over TLS.
pub(crate) struct Http {
    stream: Tls,
    host: String,
    buffer: Vec<u8>,
}

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    body: Vec<u8>,
}

impl Http {
    /// Shakes hands.
    pub(crate) fn connect(address: SocketAddr, pin: &str) -> Result<Self> {
        Ok(Self {
            stream: stream::connect(address, pin)?,
            host: address.to_string(),
            buffer: Vec::new(),
        })
    }

    /// Reads a resource.
    pub(crate) fn get(&mut self, path: &str, token: Option<&str>) -> Result<Answer> {
        self.send("GET", path, token, "")?;
        self.answer()
    }

    /// Posts a body of JSON.
    pub(crate) fn post(&mut self, path: &str, token: &str, body: &impl serde::Serialize) -> Result<Answer> {
        self.send("POST", path, Some(token), &serde_json::to_string(body)?)?;
        self.answer()
    }

    /// Asks for something that does not end, and waits for no answer.
    pub(crate) fn begin(&mut self, path: &str, token: &str) -> Result<()> {
        self.send("GET", path, Some(token), "")
    }

    /// Waits for the head of an answer that does not end.
    pub(crate) fn begun(&mut self) -> Result<()> {
        ensure!(self.head()?.starts_with("HTTP/1.1 200"), "it was refused");
        Ok(())
    }

    fn send(&mut self, method: &str, path: &str, token: Option<&str>, body: &str) -> Result<()> {
        let host = &self.host;
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
        if let Some(token) = token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if !body.is_empty() {
            let length = body.len();
            request.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n"
            ));
        }
        request.push_str("\r\n");
        request.push_str(body);
        Ok(self.stream.write_all(request.as_bytes())?)
    }

    fn answer(&mut self) -> Result<Answer> {
        let head = self.head()?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).context("a status line")?.parse()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.context("an answer says its length")?.trim().parse()?;
        while self.buffer.len() < length {
            self.fill()?;
        }
        let body = self.buffer.drain(..length).collect();
        Ok(Answer { status, body })
    }

    fn head(&mut self) -> Result<String> {
        loop {
            let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<()> {
        let mut piece = [0; 4096];
        let length = self.stream.read(&mut piece)?;
        ensure!(length > 0, "closed before the answer was whole");
        self.buffer.extend_from_slice(&piece[..length]);
        Ok(())
    }
}

impl Answer {
    /// The body of an answer that is as good as can be.
    pub(crate) fn ok<T: DeserializeOwned>(&self) -> Result<T> {
        ensure!(
            self.status == 200,
            "{}: {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// What a refusal says can be proven next.
    pub(crate) fn challenge(&self) -> Result<String> {
        let problem: protocol::Problem = serde_json::from_slice(&self.body)?;
        problem.challenge.context("a refusal carries a challenge")
    }
}
