//! Why a task stands in line, and where.

use crate::line::{LinePosition, Why};
use crate::text::{code, count, grouped};

/// As the end of "in line for a free place, …". Also used in terminals.
pub fn words(line: &LinePosition) -> String {
    let tasks = |most: usize| count(most as u64, "task");
    let why = match &line.why {
        Why::Full { most: 1 } => "the only place is taken".to_owned(),
        Why::Full { most } => format!("all {} places are taken", grouped(*most as u64)),
        Why::Repository { most } => format!("its repository has {} at work, and may have no more", tasks(*most)),
        Why::Person { login, most } => format!("{} has {} at work, and may have no more", code(login), tasks(*most)),
        Why::Soon => "its turn comes at once".to_owned(),
    };
    format!("number {} of {}: {why}", grouped(line.number as u64), grouped(line.of as u64))
}
