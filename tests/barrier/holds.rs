//! As tasks get it: every check holds, with a router and without.

use caisson::barrier::Verdict;

use crate::lab::{mismatches, run, runner};

#[tokio::test(flavor = "multi_thread")]
async fn every_check_holds_with_a_router() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let mut ground = lab.networked(lab.broker.clone(), "").await;
        // Behind a router that stands nothing of it leaves.
        ground.strangers = caisson::barrier::strangers();
        let (report, wrong) = mismatches(&ground).await;
        assert!(wrong.is_empty(), "{:#?}", report.mismatches());
        let by = |verdict| {
            report.rows.iter().filter(|row| row.verdict == verdict).map(|row| row.number).collect::<Vec<u8>>()
        };
        assert_eq!(by(Verdict::Holds), (1..=33).collect::<Vec<u8>>(), "each is tried");
        // Again in the same berths, which are as the first run left them.
        assert_eq!(mismatches(&ground).await.1, [] as [u8; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_check_holds_without_a_network_and_with_the_debug_profile() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let mut ground = lab.ground(lab.broker.clone());
        for profile in ["sealed", "debug"] {
            ground.profile = profile.to_owned();
            let (report, wrong) = mismatches(&ground).await;
            assert!(wrong.is_empty(), "{profile}: {:#?}", report.mismatches());
        }
    })
    .await;
}
