//! What GitHub answered before, with the tag that it gave each answer. A request that names the tag is answered by 304 without a body where
//! nothing changed, which with a token costs nothing of the limit of requests (docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api:
//! conditional requests). Kept in memory, within bounds; after a restart the first answer is a whole one. Tests: below.

use axum::http::HeaderValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use url::Url;

/// The most bytes of bodies that are kept; where another one has no room, all are forgotten.
const MOST_BYTES: usize = 16 << 20;

/// One answer of status 200.
#[derive(Clone)]
pub(super) struct BodyWithTag {
    /// Its entity tag, as it was sent.
    pub tag: HeaderValue,
    /// Its body.
    pub body: Arc<str>,
}

/// Answers by the address that was asked; copies share them.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<HashMap<String, BodyWithTag>>>);

impl Answers {
    /// The last answer of a server's API about this path.
    pub(super) fn of(&self, api: &Url, path: &str) -> Option<BodyWithTag> {
        self.all().get(&address(api, path)).cloned()
    }

    /// Keeps an answer in the place of the one before it.
    pub(super) fn keep(&self, api: &Url, path: &str, tag: HeaderValue, body: &str) {
        let mut all = self.all();
        all.remove(&address(api, path));
        let kept: usize = all.values().map(|known| known.body.len()).sum();
        if kept + body.len() > MOST_BYTES {
            all.clear();
        }
        if body.len() <= MOST_BYTES {
            all.insert(address(api, path), BodyWithTag { tag, body: body.into() });
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, BodyWithTag>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn address(api: &Url, path: &str) -> String {
    format!("{api} {path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_for_its_server_and_path_within_bounds() {
        let (one, other) = (Url::parse("https://api.one.test").unwrap(), Url::parse("https://api.other.test").unwrap());
        let (answers, tag) = (Answers::default(), HeaderValue::from_static("\"a\""));
        answers.clone().keep(&one, "/repos/lab/shop", tag.clone(), "first");
        answers.keep(&one, "/repos/lab/shop", HeaderValue::from_static("\"b\""), "second");
        let known = answers.of(&one, "/repos/lab/shop").unwrap();
        assert_eq!((&*known.body, known.tag.to_str().unwrap()), ("second", "\"b\""));
        assert!(answers.of(&other, "/repos/lab/shop").is_none() && answers.of(&one, "/repos/lab").is_none());
        answers.keep(&one, "/large", tag.clone(), &"x".repeat(MOST_BYTES));
        assert!(answers.of(&one, "/large").is_some() && answers.of(&one, "/repos/lab/shop").is_none());
        answers.keep(&one, "/larger", tag, &"x".repeat(MOST_BYTES + 1));
        assert!(answers.of(&one, "/larger").is_none());
    }
}
