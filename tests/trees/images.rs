//! Images for sandboxes, which are allowed once the barrier was proven with them.

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
