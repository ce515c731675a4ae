//! What a route does, said in words and types beside its handler. The row of the route takes it ([`Routes::described`](crate::Routes::described)), and the
//! description of the API is made of it: behind the feature `openapi`. Without that, nothing of it is in the binary.

use protocol::{
    Problem,
    schema::{Described, Shape},
};

use crate::error::Failure;

/// A description of a route: what its row does not say already.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "openapi"),
    expect(dead_code, reason = "only the description reads it")
)]
pub struct Operation {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) details: &'static str,
    pub(crate) target: Option<PathId>,
    pub(crate) credential: Option<Credential>,
    pub(crate) query: Option<Shape>,
    pub(crate) body: Option<Taken>,
    pub(crate) answers: [Option<Answer>; MOST_ANSWERS],
    pub(crate) failures: fn() -> Vec<Problem>,
}

/// What the `{id}` of a path names.
#[derive(Clone, Copy, Debug)]
pub struct PathId {
    /// In words: `the device`.
    pub what: &'static str,
    /// What ids begin with, up to their underscore: 16 hexadecimal digits follow.
    pub prefix: &'static str,
}

/// What a public route wants to be shown in `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The long-lived token of a device or guest.
    HolderToken,
    /// The secret of a pairing request.
    RequestSecret,
}

/// A body that a route takes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "openapi"),
    expect(dead_code, reason = "only the description reads it")
)]
pub(crate) struct Taken {
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
}

/// One way in which a route answers where nothing failed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "openapi"),
    expect(dead_code, reason = "only the description reads it")
)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
}

/// What an answer holds.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "openapi"),
    expect(dead_code, reason = "only the description reads it")
)]
pub(crate) enum Content {
    Nothing,
    Json(Shape),
    /// Of this media type.
    Other(&'static str),
    /// Server-sent events, whose `data` is of this shape.
    Events(Shape),
}

impl Operation {
    /// A route of this name (`snake_case`, its own among all) that does what one sentence says.
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            details: "",
            target: None,
            credential: None,
            query: None,
            body: None,
            answers: [None; MOST_ANSWERS],
            failures: Vec::new,
        }
    }

    /// Says more, in Markdown.
    pub const fn explained(mut self, details: &'static str) -> Self {
        self.details = details;
        self
    }

    /// The path's `{id}` names this.
    pub const fn about(mut self, target: PathId) -> Self {
        self.target = Some(target);
        self
    }

    /// A public route that wants this to be shown all the same.
    pub const fn shown(mut self, credential: Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// Takes this query.
    pub const fn asks<T: Described>(mut self) -> Self {
        self.query = Some(Shape::of::<T>());
        self
    }

    /// Takes this body.
    pub const fn takes<T: Described>(mut self) -> Self {
        self.body = Some(Taken {
            shape: Shape::of::<T>(),
            is_required: true,
        });
        self
    }

    /// Takes this body, or none.
    pub const fn may_take<T: Described>(mut self) -> Self {
        self.body = Some(Taken {
            shape: Shape::of::<T>(),
            is_required: false,
        });
        self
    }

    /// Answers this as JSON; said again of one status, it is the one or the other.
    pub const fn gives<T: Described>(self, status: u16) -> Self {
        self.answering(status, Content::Json(Shape::of::<T>()))
    }

    /// Answers something of another media type.
    pub const fn gives_other(self, status: u16, media_type: &'static str) -> Self {
        self.answering(status, Content::Other(media_type))
    }

    /// Answers with server-sent events.
    pub const fn gives_events<T: Described>(self, status: u16) -> Self {
        self.answering(status, Content::Events(Shape::of::<T>()))
    }

    /// Answers without a body.
    pub const fn gives_nothing(self, status: u16) -> Self {
        self.answering(status, Content::Nothing)
    }

    /// Fails with these, besides what every route of its kind fails with.
    pub const fn fails(mut self, failures: fn() -> Vec<Problem>) -> Self {
        self.failures = failures;
        self
    }

    const fn answering(mut self, status: u16, content: Content) -> Self {
        let mut place = 0;
        while self.answers[place].is_some() {
            place += 1;
        }
        self.answers[place] = Some(Answer { status, content });
        self
    }
}

/// What the wire says of these failures.
pub fn problems<F: Into<Failure>>(failures: impl IntoIterator<Item = F>) -> Vec<Problem> {
    let failures = failures.into_iter();
    failures.map(|failure| failure.into().problem()).collect()
}

/// A device in a path.
pub const DEVICE: PathId = PathId {
    what: "the device",
    prefix: "dev",
};
/// A guest in a path.
pub const GUEST: PathId = PathId {
    what: "the guest",
    prefix: "gst",
};
/// An offer in a path.
pub const OFFER: PathId = PathId {
    what: "the offer",
    prefix: "ofr",
};
/// A pairing request in a path.
pub const REQUEST: PathId = PathId {
    what: "the pairing request",
    prefix: "req",
};

/// Ways to answer of one route.
const MOST_ANSWERS: usize = 3;
