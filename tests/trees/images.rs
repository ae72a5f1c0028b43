//! Images for sandboxes, which are allowed once the barrier was proven with them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caisson::sandbox::SandboxError;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_was_not_tried_makes_no_sandbox() {
    let world = World::new().await;
    world.sandboxes.images.prove_first();
    let Err(SandboxError::Unavailable(why)) = world.sandboxes.of_tasks.prepare(&world.spec(1)).await else {
        panic!("nobody had tried that image")
    };
    assert!(why.contains("the image local"), "{why}");
    assert!(world.broker.created.lock().expect("listed").is_empty(), "no container was made");
    // The prover was notified.
    let asked = tokio::time::timeout(Duration::from_secs(20), world.sandboxes.images.asked_to_prove()).await;
    assert_eq!(asked.expect("asked"), ["local"]);
    world.sandboxes.images.proven(["sha256:another".to_owned()]);
    assert!(world.sandboxes.of_tasks.prepare(&world.spec(1)).await.is_err(), "another id is another image");
    world.sandboxes.images.proven(["sha256:local".to_owned()]);
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("it was tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_gone_from_the_engine_is_no_lost_sandbox() {
    let world = World::new().await;
    world.sandboxes.images.prove_first();
    world.sandboxes.images.proven(["sha256:local".to_owned()]);
    world.broker.faults.images_gone.store(true, Ordering::SeqCst);
    let says_why = |why: &str| why.contains("image local") && why.contains("start the broker anew");
    let asked = world.sandboxes.image("local").await;
    assert!(matches!(&asked, Err(SandboxError::Unavailable(why)) if says_why(why)), "{asked:?}");
    let made = world.sandboxes.of_tasks.prepare(&world.spec(1)).await;
    assert!(matches!(&made, Err(SandboxError::Unavailable(why)) if says_why(why)), "{made:?}");
    world.broker.faults.images_gone.store(false, Ordering::SeqCst);
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("the broker has another");
}
