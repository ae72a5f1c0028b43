//! The order of turns, by examples and for arbitrary queues.

use super::*;
use proptest::prelude::*;

fn member(id: i64, repository: &str, person: &str) -> Member {
    Member { id: TaskId(id), seq: 1, repository: repository.to_owned(), person: person.to_owned() }
}

fn line(limits: Limits, at_work: &[Member], waiting: &[Member]) -> Line {
    Line::new(limits, at_work.to_vec(), waiting.to_vec(), HashMap::new())
}

fn ids(members: &[&Member]) -> Vec<i64> {
    members.iter().map(|member| member.id.0).collect()
}

fn at_most(all: usize) -> Limits {
    Limits { all, ..Limits::default() }
}

/// Gives one slot at a time to the next task, each of which ends at once.
fn served(mut line: Line) -> Vec<Member> {
    let (mut order, mut now) = (Vec::new(), 1);
    while let Some(next) = line.next().first().map(|next| (*next).clone()) {
        line.waiting.retain(|member| member.id != next.id);
        line.turns.insert((next.repository.clone(), next.person.clone()), now);
        order.push(next);
        now += 1;
    }
    order
}

#[test]
fn who_asked_for_twenty_keeps_nobodys_first_one_waiting() {
    let mut waiting: Vec<Member> = (1..=20).map(|id| member(id, &format!("repo-{}", id % 3), "alice")).collect();
    waiting.push(member(21, "repo-1", "bob"));
    waiting.push(member(22, "repo-1", "bob"));
    let order: Vec<i64> = served(line(at_most(1), &[], &waiting)).iter().map(|member| member.id.0).collect();
    assert_eq!(order[..4], [1, 21, 2, 22], "{order:?}");
    assert_eq!(order[4..7], [3, 4, 5], "the three repositories in turn: {order:?}");
}

#[test]
fn whose_turn_was_before_is_known_in_the_next_life() {
    let waiting = [member(1, "shop", "alice"), member(2, "shop", "bob")];
    let turns = HashMap::from([(("blog".to_owned(), "alice".to_owned()), 70)]);
    let line = Line::new(at_most(1), Vec::new(), waiting.to_vec(), turns);
    assert_eq!(ids(&line.next()), [2]);
}

#[test]
fn why_who_stands_in_line_waits_is_told() {
    let limits = Limits { all: 3, person: 2, repositories: HashMap::from([("shop".to_owned(), 1)]) };
    let at_work = [member(1, "shop", "bob"), member(2, "blog", "alice"), member(3, "wiki", "alice")];
    let waiting = [member(4, "shop", "carol"), member(5, "wiki", "alice"), member(6, "wiki", "dora")];
    let full = line(limits.clone(), &at_work, &waiting);
    assert!(full.next().is_empty());
    let why = |line: &Line, id| line.standing(TaskId(id)).expect("in line");
    assert_eq!(why(&full, 4), LinePosition { number: 1, of: 3, why: Why::Repository { most: 1 } });
    assert_eq!(why(&full, 5).why, Why::Person { login: "alice".into(), most: 2 });
    assert_eq!(why(&full, 6).why, Why::Full { most: 3 });
    assert_eq!(full.standing(TaskId(1)), None, "it has a slot");
    let free = line(limits, &at_work[..2], &waiting);
    assert_eq!(ids(&free.next()), [5], "one slot is free, and the repository of 4 has its one");
    assert_eq!(why(&free, 5).why, Why::Soon);
}

/// Up to 24 tasks of up to 4 people in up to 3 repositories.
fn members() -> impl Strategy<Value = Vec<Member>> {
    let one = (0..3_u8, 0..4_u8);
    proptest::collection::vec(one, 0..24).prop_map(|all| {
        let of = |(at, (repository, person))| member(at, &format!("r{repository}"), &format!("p{person}"));
        (1..).zip(all).map(of).collect()
    })
}

fn count(members: &[Member], of: impl Fn(&Member) -> bool) -> usize {
    members.iter().filter(|member| of(member)).count()
}

proptest! {
    #[test]
    fn no_limit_is_passed_and_no_slot_is_left_to_nobody(
        waiting in members(), busy in 0..4_usize, all in 1..6_usize, person in 0..3_usize, repository in 0..3_usize
    ) {
        let repositories = (0..3).map(|n| (format!("r{n}"), repository)).collect();
        let limits = Limits { all, person, repositories };
        let busy = busy.min(waiting.len());
        let line = line(limits.clone(), &waiting[..busy], &waiting[busy..]);
        let given: Vec<Member> = line.next().into_iter().cloned().collect();
        let mut at_work = waiting[..busy].to_vec();
        at_work.extend(given.iter().cloned());
        for one in &given {
            prop_assert!(at_work.len() <= all);
            prop_assert!(person == 0 || count(&at_work, |it| it.person == one.person) <= person);
            prop_assert!(repository == 0 || count(&at_work, |it| it.repository == one.repository) <= repository);
        }
        let counts = Counts::of(&at_work);
        for left in waiting[busy..].iter().filter(|member| !given.contains(member)) {
            prop_assert!(limits.keeps(&counts, left).is_some(), "{left:?} could begin");
        }
    }

    #[test]
    fn everybody_has_a_turn_before_anybody_has_two(waiting in members()) {
        let order = served(line(at_most(1), &[], &waiting));
        prop_assert_eq!(order.len(), waiting.len(), "everyone in line is served");
        for (at, member) in order.iter().enumerate() {
            let before = order[..at].iter().rposition(|other| other.person == member.person).map_or(0, |last| last + 1);
            for other in order[before..at].iter().filter(|other| other.person != member.person) {
                let turns = count(&order[before..at], |it| it.person == other.person);
                prop_assert!(turns <= 1, "{} had {turns} turns while {} waited", other.person, member.person);
            }
        }
    }
}
