//! Orders of an operator on the command line.

use crate::common::*;
use caisson_domain::*;

#[test]
fn stop_ends_a_task_wherever_it_is() {
    for mut walk in [Walk::new(TaskKind::Fix), Walk::running(TaskKind::Fix), Walk::at_checkpoint()] {
        walk.feed(Input::Ordered { order: Order::Stop });
        assert_eq!(walk.task.end(), Some(&End::Cancelled { by: "operator".into(), number: 0 }));
        assert!(walk.wants("teardown"));
        assert!(matches!(walk.notice(), Some(Notice::Cancelled { .. })));
    }
}

#[test]
fn resume_goes_on_with_what_is_paused_and_changes_nothing_else() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.feed(Input::PauseAsked { reason: PauseReason::Blocked { sentence: "s".into() } });
    walk.feed(Input::Ordered { order: Order::Resume });
    assert_eq!(walk.task.state, State::Running);
    assert!(walk.wants("open"));
    assert_eq!((walk.notice(), walk.shows), (None, true), "its status comment says so");
    walk.feed(Input::Ordered { order: Order::Resume });
    assert_eq!(walk.last, Step::default());
}
