//! Messages of the attach protocol, both ways.

use protocol::attach::{ClientMessage, ServerMessage};

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(message) = ClientMessage::decode(bytes) {
        assert_eq!(ClientMessage::decode(&message.encode()), Ok(message));
    }
    if let Ok(message) = ServerMessage::decode(bytes) {
        assert_eq!(ServerMessage::decode(&message.encode()), Ok(message));
    }
}
