//! Bounds of the access layer, each with its unit and its reason.

use std::time::Duration;

/// What a configuration may change: `[limits]` and the times that tests shorten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Remote connections nobody has authenticated on; one more drops the oldest of them.
    pub unauthenticated: usize,
    /// Connections of one principal; one more is refused.
    pub per_principal: usize,
    /// Connections in all.
    pub connections: usize,
    /// Descriptors of connections in all: one over a network stack in this process takes two.
    pub descriptors: usize,
    /// Time for a TLS handshake.
    pub handshake: Duration,
    /// Time for a request's head, the first as well as each later one.
    pub head: Duration,
    /// Time for a WebSocket's first frame, which carries the token.
    pub first_frame: Duration,
    /// Time that work in flight has after a soft stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unauthenticated: 256,
            per_principal: 256,
            connections: 8_192,
            descriptors: usize::MAX,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            first_frame: Duration::from_secs(5),
            drain: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// The same for a process that may have so many descriptors. What strangers and devices can take of them never takes the last:
    /// the owner is known, sessions start and files are written by others.
    pub fn within_descriptors(self, descriptors: usize) -> Self {
        let descriptors = descriptors - LEFT_DESCRIPTORS.min(descriptors / 2);
        let connections = self.connections.min(descriptors);
        Self {
            connections,
            descriptors,
            unauthenticated: self.unauthenticated.min(connections / 2),
            ..self
        }
    }
}

/// Descriptors that are no connections': the store's and the log's, and a handful for each of 64 sessions.
const LEFT_DESCRIPTORS: usize = 512;

/// Bytes of a request's body: the largest JSON of the API is far smaller.
pub const BODY: usize = 1024 * 1024;

/// Bytes of a request's body on a public route: what pairing sends has fewer than 2,000, and strangers may have
/// 16 requests on each of their connections, all read whole.
pub const PUBLIC_BODY: usize = 4 * 1024;

/// Bytes of a request's head: of HTTP/1 as they come, of HTTP/2 as RFC 9113 section 6.5.2 counts them. What browsers and our own
/// clients send has fewer than 2,000.
pub const HEAD: usize = 16 * 1024;

/// Requests at a time on one HTTP/2 connection: a page needs a dozen, and an event stream for each of its tabs.
pub(crate) const STREAMS: u32 = 64;

/// Of these, how many of public routes: only they wait for a body, or for news, of somebody whom nobody knows.
pub(crate) const PUBLIC_REQUESTS: usize = 16;

/// Bytes of bodies that an HTTP/2 connection takes before somebody reads them.
pub(crate) const UNREAD: u32 = 256 * 1024;

/// The same of one request.
pub(crate) const UNREAD_OF_ONE: u32 = 64 * 1024;

/// Bytes of one WebSocket message from a client: a large paste arrives in several.
pub(crate) const MESSAGE: usize = 1024 * 1024;

/// Bytes that a WebSocket reads at once: its buffer is filled with zeroes before each read, and each connection keeps one.
pub(crate) const READ_BUFFER: usize = 4 * 1024;

/// Bytes that are read of a WebSocket, below TLS, before its token has come: one record of TLS (RFC 8446 section 5.2), which
/// may hold more than the token and can be read as a whole only. What is beyond waits in the kernel until then.
pub(crate) const BEFORE_TOKEN: usize = 5 + 16 * 1024 + 256;

/// Bytes of a WebSocket's first frame: a token has fewer than 100.
pub(crate) const FIRST_FRAME: usize = 512;

/// Time for one attempt at a close frame before a revoked stream is cut.
pub(crate) const CLOSE_FRAME: Duration = Duration::from_millis(20);

/// Time for the principal's own connection to carry its answer away before it is cut.
pub(crate) const OWN_ANSWER: Duration = Duration::from_millis(50);

/// Time that a stop waits for tasks whose streams were cut; they only have to notice.
pub(crate) const AFTER_CUT: Duration = Duration::from_secs(1);

/// Pause of an accept loop that the system refused: a descriptor may become free.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Least time between two lines of the log about that.
pub(crate) const SAID_EVERY: Duration = Duration::from_secs(60);

/// Time for an idle HTTP/2 connection to acknowledge that it ends.
pub(crate) const GOAWAY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn of_many_descriptors_all_that_is_configured_is_taken_and_of_few_at_most_half() {
        let within = |descriptors| {
            let limits = Limits::default().within_descriptors(descriptors);
            (limits.connections, limits.descriptors, limits.unauthenticated)
        };
        assert_eq!(within(1_048_576), (8_192, 1_048_064, 256));
        assert_eq!(within(4_096), (3_584, 3_584, 256));
        assert_eq!(within(1_024), (512, 512, 256));
        assert_eq!(within(256), (128, 128, 64));
    }
}
