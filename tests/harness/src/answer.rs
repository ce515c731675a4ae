//! An HTTP answer, read whole.

use protocol::Problem;
use reqwest::Response;
use serde::de::DeserializeOwned;

use crate::transcript;

/// Status, headers and body.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: http::HeaderMap,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Reads a response to its end.
    ///
    /// # Errors
    /// Where the connection ends first.
    pub async fn read(response: Response) -> reqwest::Result<Self> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let answer = Self {
            status,
            headers,
            body: response.text().await?,
        };
        transcript::answer(&answer);
        Ok(answer)
    }

    /// The body of a success.
    ///
    /// # Panics
    /// Where it is none, or not of this shape.
    pub fn ok<T: DeserializeOwned>(&self) -> T {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The body of an error.
    ///
    /// # Panics
    /// Where it is no problem object.
    pub fn problem(&self) -> Problem {
        assert!(self.status >= 400, "{} {}", self.status, self.body);
        let problem: Problem =
            serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body));
        assert_eq!(problem.status, self.status);
        problem
    }

    /// Status and code of an error in one word: `401 revoked`; the status alone of a success.
    pub fn verdict(&self) -> String {
        if self.status < 400 {
            self.status.to_string()
        } else {
            format!("{} {}", self.status, self.problem().code)
        }
    }
}
