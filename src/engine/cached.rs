//! The cache key of a task's requests, for vendors that route by it.

use domain::TaskId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::secret::Secret;

/// A key of 32 hexadecimal digits, constant per task, from which nothing about the task can be concluded.
pub(super) fn key(secret: &Secret, task: TaskId) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("HMAC takes a key of any length");
    mac.update(format!("caisson cache 1\n{task}").as_bytes());
    hex::encode(&mac.finalize().into_bytes()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_has_one_and_nobody_else_can_tell_it() {
        let (ours, theirs) = (Secret::new("ours"), Secret::new("theirs"));
        let one = key(&ours, TaskId(7));
        assert_eq!(one, key(&ours, TaskId(7)));
        assert!(one.len() == 32 && one.chars().all(|c| c.is_ascii_hexdigit()), "{one}");
        assert!(one != key(&ours, TaskId(8)) && one != key(&theirs, TaskId(7)));
        assert!(!one.contains(super::super::Fence::new(&ours, TaskId(7)).nonce()));
    }
}
