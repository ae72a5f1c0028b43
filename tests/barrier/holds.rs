//! For a sandbox as tasks get it, every check holds, with and without a router.

use std::sync::Arc;

use caisson::barrier::Verdict;
use caisson::sandbox::broker::Broker;

use crate::lab::{ROUTER, Weak, elsewhere, lenient, mismatches, run, runner};

#[tokio::test(flavor = "multi_thread")]
async fn every_check_holds_with_a_router() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let mut setup = lab.networked(lab.broker.clone(), "").await;
        // Behind a running router none of its packets leaves.
        setup.strangers = caisson::barrier::strangers();
        let (report, wrong) = mismatches(&setup).await;
        assert!(wrong.is_empty(), "{:#?}", report.mismatches());
        let by = |verdict| {
            report.rows.iter().filter(|row| row.verdict == verdict).map(|row| row.number).collect::<Vec<u8>>()
        };
        assert_eq!(by(Verdict::Holds), (1..=33).collect::<Vec<u8>>(), "each is tried");
        // Again in the same subnets, in the state in which the first run left them.
        assert_eq!(mismatches(&setup).await.1, [] as [u8; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_check_holds_without_a_network_and_with_the_debug_profile() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let mut setup = lab.setup(lab.broker.clone());
        for profile in ["sealed", "debug"] {
            setup.profile = profile.to_owned();
            let (report, wrong) = mismatches(&setup).await;
            assert!(wrong.is_empty(), "{profile}: {:#?}", report.mismatches());
        }
    })
    .await;
}

/// In compose bot and broker have networks of their own; the machine itself is tested nevertheless.
#[tokio::test(flavor = "multi_thread")]
async fn from_a_container_the_machine_is_tried_and_heard() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let setup = lab.networked(lab.broker.clone(), "").await;
        let there = lab.broker.host(ROUTER).await.expect("told").addresses;
        let (report, wrong) = elsewhere(move || async move { mismatches(&setup).await }).await;
        assert!(wrong.is_empty(), "{:#?}", report.mismatches());
        assert!(!there.is_empty());
        // Networks of other tests come and go meanwhile.
        let still: Vec<_> = lab.broker.host(ROUTER).await.expect("told").addresses;
        let lasting: Vec<_> = there.iter().filter(|at| still.contains(at)).collect();
        assert!(!lasting.is_empty() && lasting.iter().all(|at| report.machine.contains(at)), "{:?}", report.machine);
        if lenient(&lab).await {
            let open = Arc::new(Weak { unfenced: true, ..Weak::new(&lab, |_, _| {}) });
            let setup = lab.networked(open, "").await;
            let (report, wrong) = elsewhere(move || async move { mismatches(&setup).await }).await;
            assert_eq!(wrong, [11], "{:#?}", report.mismatches());
        }
    })
    .await;
}
